"""Sites on 127.0.0.1: one port for each domain, answers by URL, every request noted."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What one URL gives."""

    body: str | bytes = ""
    status: int = 200
    content_type: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    """Also ETag and Last-Modified; who sends them back gets 304."""
    delay_seconds: float = 0
    until: threading.Event | None = None
    """It waits for this, two minutes at most."""

    @property
    def payload(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else self.body.encode()


def redirect(target: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": target})


Site = dict[str, Answer | Callable[[int], Answer]]
"""Full URL to its answer, or to what answers the first, second ... request for it."""


class WebServer:
    """Several origins with one site over all of them."""

    def __init__(self, domains: int) -> None:
        self.site: Site = {}
        self.requests: list[str] = []
        self.asked_with: list[tuple[str, dict[str, str]]] = []
        """Each request's URL and headers."""
        self.is_open = threading.Event()
        """Nothing is answered while it is not set; two minutes at most."""
        self.is_open.set()
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._servers = [_server(self) for _ in range(domains)]
        self.origins = [f"http://127.0.0.1:{server.server_port}" for server in self._servers]
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, url: str) -> Answer:
        with self._lock:
            self.requests.append(url)
            self._asked[url] += 1
            times = self._asked[url]
        found = self.site.get(url, Answer("not found", 404))
        return found if isinstance(found, Answer) else found(times)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


@contextmanager
def serving(domains: int, build: Callable[[list[str]], Site]) -> Iterator[WebServer]:
    server = WebServer(domains)
    server.site = build(server.origins)
    try:
        yield server
    finally:
        server.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    web: WebServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Crawlers that are killed break their connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    validators: ClassVar = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}

    def do_GET(self) -> None:
        # Who takes it for a proxy sends whole URLs.
        url = self.path if self.path.startswith("http") else f"http://{self.headers['Host']}{self.path}"
        self.server.web.asked_with.append((url, dict(self.headers)))
        self.server.web.is_open.wait(120)
        answer = self.server.web.answer(url)
        if answer.delay_seconds:
            time.sleep(answer.delay_seconds)
        if answer.until is not None:
            answer.until.wait(120)
        if self._is_unchanged(answer):
            answer = Answer(status=304, headers=answer.headers)
        self.send_response_only(answer.status)
        if answer.status not in (204, 304):
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(answer.payload))))
        for name, value in answer.headers.items():
            if name != "Content-Length":
                self.send_header(name, value)
        self.end_headers()
        if answer.status not in (204, 304):
            self.wfile.write(answer.payload)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _is_unchanged(self, answer: Answer) -> bool:
        return any(
            name in answer.headers and self.headers.get(asked) == answer.headers[name]
            for name, asked in self.validators.items()
        )

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Be silent."""


def _server(web: WebServer) -> _Server:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.web = web
    return server
