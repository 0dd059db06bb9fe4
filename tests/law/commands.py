"""`scrapy` as a user calls it, in a project's folder, and the shop of `site.py` on a real port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.commands import running
from tests.commands.running import Outcome
from tests.law.crawls import ADDON
from tests.law.site import Asked, FixedWorld, World


def scrapy(folder: Path, *arguments: str, **settings: Any) -> Outcome:
    """Run a command of Scrapy in a project, and wait for it."""
    chosen = {"ADDONS": {ADDON: 700}, "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, **settings}
    lines = "".join(f"{name} = {value!r}\n" for name, value in chosen.items())
    (folder / "project_settings.py").write_text(lines, encoding="utf-8")
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n", encoding="utf-8")
    # Files change faster than the clock by which Python knows that byte code is old.
    return running.scrapy(*arguments, folder=folder, PYTHONDONTWRITEBYTECODE="1")


class Served:
    """A world behind a port; another one can take its place."""

    def __init__(self) -> None:
        self.world: World | FixedWorld = FixedWorld({})
        self.lock = threading.Lock()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with served.lock:
                    answer = served.world.answer(Asked(self.command, f"{served.origin}{self.path}", headers, body))
                self.send_response_only(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.status != 304:
                    self.send_header("Content-Type", answer.content_type)
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
                """Say nothing."""

        class QuietServer(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving() -> Iterator[Served]:
    served = Served()
    try:
        yield served
    finally:
        served.close()
