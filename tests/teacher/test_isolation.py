"""A page reaches nothing but by what is fetched for it, whatever it tries."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from scrapy_dedup.teacher import NotShown, NotShownReason, RenderedPage, Resource
from tests.browser import required_chromium, shared_chromium
from tests.servers_here import is_hidden
from tests.tables import table
from tests.teacher.hostile import hostile_page
from tests.teacher.showing import PATIENCE_SECONDS, Shelf, a_showing, answered, not_shown, shown, style

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)


@dataclass
class Listeners:
    """One port on several addresses, by TCP and UDP."""

    port: int
    hosts: list[str]
    """As they stand in a URL."""
    page: bytes = b""
    """What /page gives."""
    hits: list[str] = field(default_factory=list)
    """First words of what came: `tcp GET /image`, `udp`."""


@contextmanager
def listening() -> Iterator[Listeners]:
    """Listen on 127.0.0.1, 127.0.0.2 and ::1, as far as this machine has them."""
    sockets, listeners = _bound()
    for each in sockets:
        takes = _take_connections if each.type == socket.SOCK_STREAM else _take_datagrams
        threading.Thread(target=takes, args=(each, listeners), daemon=True).start()
    try:
        yield listeners
    finally:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _bound() -> tuple[list[socket.socket], Listeners]:
    for _ in range(50):
        first = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        first.bind(("127.0.0.1", 0))
        port = first.getsockname()[1]
        sockets, hosts = [first], ["127.0.0.1"]
        wanted = [
            (socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1"),
            (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.2"),
            (socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.2"),
            (socket.AF_INET6, socket.SOCK_STREAM, "::1"),
            (socket.AF_INET6, socket.SOCK_DGRAM, "::1"),
        ]
        for family, kind, address in wanted:
            with suppress(OSError):
                each = socket.socket(family, kind)
                sockets.append(each)
                each.bind((address, port))
                hosts.append(f"[{address}]" if ":" in address else address)
        if "127.0.0.2" in hosts:
            for each in sockets:
                if each.type == socket.SOCK_STREAM:
                    each.listen(100)
            return sockets, Listeners(port, sorted(set(hosts)))
        for each in sockets:
            each.close()
    raise AssertionError("no port is free on 127.0.0.1 and 127.0.0.2")


def _take_connections(listener: socket.socket, listeners: Listeners) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection, listeners), daemon=True).start()


def _answer(connection: socket.socket, listeners: Listeners) -> None:
    with connection, suppress(OSError):
        connection.settimeout(5)
        said = ""
        try:
            said = connection.recv(4096).decode("latin-1")
        finally:
            listeners.hits.append(f"tcp {' '.join(said.split()[:2])}")
        body = listeners.page if " /page " in said else b""
        connection.sendall(_ANSWER % (len(body), body))


def _take_datagrams(listener: socket.socket, listeners: Listeners) -> None:
    with suppress(OSError):
        while True:
            listener.recvfrom(4096)
            listeners.hits.append("udp")


pytestmark = pytest.mark.browser


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    with listening() as listeners:
        yield listeners


def _hostile(listeners: Listeners, *, scripts: bool) -> str:
    return hostile_page((f"{host}:{listeners.port}" for host in listeners.hosts), scripts=scripts)


WAYS_OUT = set(
    "image iframe object import style-elsewhere background fetch xhr websocket eventsource beacon worker udp".split()
)


def test_without_these_guards_the_page_reaches_them(listeners):
    """What the next test asserts means something: the same page, in a browser as it comes."""
    listeners.page = ("<!doctype html><body>" + _hostile(listeners, scripts=True)).encode()
    with shared_chromium() as plain, closing(plain.new_context()) as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{listeners.port}/page")
        deadline = time.monotonic() + 20
        while missing := WAYS_OUT - {hit.rpartition("/")[2] for hit in listeners.hits}:
            assert time.monotonic() < deadline, missing
            page.wait_for_timeout(50)


@pytest.mark.parametrize("scripts", [False, True], ids=["without-scripts", "with-scripts"])
def test_a_page_reaches_nothing(browser, listeners, *, scripts):
    shelf = Shelf()
    html = _hostile(listeners, scripts=scripts)

    shown(browser, a_showing(html, url=f"http://127.0.0.1:{listeners.port}/page", scripts=scripts), shelf)

    assert listeners.hits == []
    kinds = {wanted.kind for wanted in shelf.wanted}
    assert kinds == ({"stylesheet", "script", "fetch", "xhr"} if scripts else {"stylesheet"})


def test_what_is_fetched_for_a_page_leads_it_nowhere(browser, listeners):
    there = f"http://127.0.0.1:{listeners.port}"
    led = {
        "location": f"{there}/location",
        "link": f"<{there}/link>; rel=preload; as=style, <{there}>; rel=preconnect",
        "refresh": f"0; url={there}/refresh",
        "set-cookie": "a=b",
    }
    script = f"fetch('{there}/from-script', {{method: 'POST'}}); location = '{there}/location-script'"
    shelf = Shelf(
        {
            "/moved.css": Resource(302, led, b""),
            "/led.css": style(f"@import '{there}/import'; b {{ background: url({there}/background) }}", **led),
            "/a.js": Resource(200, {"content-type": "text/javascript", **led}, script.encode()),
        }
    )
    links = "".join(f'<link rel=stylesheet href="/{name}.css">' for name in ("moved", "led"))

    answer = shown(browser, a_showing(f"{links}<script src=/a.js></script><b>text</b>", scripts=True), shelf)

    assert listeners.hits == []
    assert answer.fetched == 2
    assert any("moved.css" in url for url in answer.refused)


AWAY = {
    "meta-refresh-with-base": '<meta http-equiv=refresh content="0; url={there}/refresh">'
    "<base href={there}/base/><link rel=stylesheet href=a.css><img src=a.png>",
    "location": "<script>location = '{there}/location'</script>",
    "location-later": "<script>onload = () => setTimeout(() => {{ location.href = '{there}/later' }}, 50)</script>",
    "replace-in-a-loop": "<script>setInterval(() => location.replace('{there}/loop?' + Math.random()), 5)</script>",
    "reload": "<script>location.reload()</script>",
    "open-and-history": "<script>open('{there}/open'); open('about:blank').location = '{there}/open-later';"
    " history.pushState(0, '', '/other'); history.back(); history.forward()</script>",
    "forms-and-click": "<form action={there}/form><input name=a></form><form method=post action={there}/form></form>"
    "<a href={there}/click>a</a><script>document.forms[0].submit(); document.forms[1].submit();"
    " setTimeout(() => document.links[0].click())</script>",
    "other-schemes": "<script>['file:///etc/hostname', 'chrome://version', 'view-source:{there}/source',"
    " 'data:text/html,<p>other</p>'].forEach((to, n) => setTimeout(() => {{ location = to }}, n * 20))</script>",
}


@pytest.fixture(scope="module")
def led_away(browser) -> Iterator[tuple[Listeners, dict[str, "Future[RenderedPage | NotShown]"]]]:
    """All of them at once: most of their time is waiting."""
    with listening() as listeners:
        there = f"http://127.0.0.1:{listeners.port}"
        pages = {name: f"<p>own text</p>{html.format(there=there)}" for name, html in AWAY.items()}
        yield (
            listeners,
            {name: browser.show(a_showing(page, scripts=True), Shelf().fetch) for name, page in pages.items()},
        )


@pytest.mark.parametrize("name", AWAY)
def test_a_page_that_leads_away_is_looked_at_where_it_is(led_away, name):
    listeners, answers = led_away

    answer = answers[name].result(PATIENCE_SECONDS)

    assert isinstance(answer, RenderedPage), answer
    assert "own text" in (answer.html or "")
    assert listeners.hits == []


@table("teacher/another_document_is_never_taken_for_the_page")
def test_another_document_is_never_taken_for_the_page(browser, to):
    answer = answered(browser, a_showing(f"<p>own text</p><script>location = {to}</script>", scripts=True))

    if isinstance(answer, RenderedPage):
        assert "own text" in (answer.html or "")
    else:
        assert answer.reason is NotShownReason.LED_AWAY


SPELLINGS = (
    "localhost a.localhost 127.1 2130706433 0x7f.1 0177.0.0.1 0.0.0.0 [::1] [::] [::ffff:127.0.0.1] [::127.0.0.1]"
    " [2002:7f00:1::] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2001:0:7f00:1::] [fe80::1] [fd00::1]"
).split()


def test_no_spelling_of_a_private_address_is_reached(browser, listeners):
    places = [f"{host}:{listeners.port}" for host in SPELLINGS]
    tries = "".join(
        f"<img src=http://{place}/a><iframe src=http://{place}/b></iframe><link rel=preconnect href=http://{place}>"
        f"<script>fetch('http://{place}/c').catch(() => 0); new WebSocket('ws://{place}/')</script>"
        for place in places
    )
    shelf = Shelf()

    shown(browser, a_showing(tries, scripts=True), shelf)

    assert listeners.hits == []
    assert len(shelf.wanted) == len(places)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/hostname", "chrome://version", "view-source:http://site.example/", "data:text/html,a", "about:blank"],
)
def test_only_pages_of_the_web_are_shown(browser, url):
    assert not_shown(browser, a_showing("a", url=url)).reason is NotShownReason.FAILED


def test_a_drawing_reaches_nothing(browser, listeners):
    drawn = browser.draw(_hostile(listeners, scripts=True), 400, 300).result(PATIENCE_SECONDS)

    assert isinstance(drawn, bytes)
    assert listeners.hits == []


def test_the_browser_sends_no_packet():
    """Nor does it ask for names, nor its maker for anything: where nothing else runs, all packets are counted."""
    required_chromium()
    apart = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if (
        is_hidden("network")
        or shutil.which("unshare") is None
        or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system lets nobody have a network of his own (unshare --net)")

    done = subprocess.run(
        [*apart, sys.executable, "-m", "tests.teacher.packets"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)
    assert set(sent["teacher"].values()) == {0}
    # They do count.
    assert sent["others"]["Ip:OutRequests"] > 0
    assert sent["others"]["Ip:OutNoRoutes"] > 0
