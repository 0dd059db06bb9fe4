import asyncio
import struct
import threading
import time
from concurrent.futures import Future

import pytest

from scrapy_dedup.core.teacher import Flag
from scrapy_dedup.teacher import NotShown, RenderedPage, Resource, Showing, WantedResource
from scrapy_dedup.teacher.rendering import MOST_PICTURE_HEIGHT, MOST_RESOURCE_BYTES, MOST_RESOURCES, WIDTH
from tests.teacher.showing import PATIENCE_SECONDS, URL, Shelf, a_page, a_showing, shown, style

pytestmark = pytest.mark.browser


def _size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_page_is_seen_with_its_style_sheets(browser):
    html = "<head><link rel=stylesheet href=../s/a.css></head><h1>Title</h1><p>Some text</p><p id=gone>not seen</p>"
    page = a_page(html)
    shelf = Shelf()
    shelf.resources["/s/a.css"] = style("@import 'b.css'; h1 { font-size: 50px }")
    shelf.resources["/s/b.css"] = style("#gone { display: none }")

    answer = shown(browser, Showing(URL, page), shelf)

    title, gone = (answer.snapshot.elements[page.of_blocks[at]] for at in (0, 2))
    assert title.font_size == 50
    assert gone.flags & Flag.NOT_DISPLAYED
    assert [page.tags[element.number] for element in answer.snapshot.elements.values()] == ["body", "h1", "p", "p"]
    assert shelf.wanted == [
        WantedResource("http://site.example/s/a.css", "stylesheet", URL),
        WantedResource("http://site.example/s/b.css", "stylesheet", URL),
    ]
    assert (answer.fetched, answer.refused, answer.html, answer.picture) == (2, (), None, None)
    assert answer.browser == browser.version


SCRIPTED = "<p>static</p><script>document.body.insertAdjacentHTML('beforeend', '<p>made by a script</p>')</script>"


def test_scripts_run_where_asked_for_and_only_there(browser):
    without, with_scripts = (
        shown(browser, Showing(URL, a_page(SCRIPTED), scripts=scripts)) for scripts in (False, True)
    )

    assert (without.html, without.snapshot.js_share) == (None, 0)
    assert "<p>made by a script</p>" in (with_scripts.html or "")
    assert with_scripts.snapshot.js_share == pytest.approx(16 / 22)


def test_scripts_get_what_they_ask_for_until_they_rest_and_change_nothing_on_the_site(browser):
    """Of another site, too; only what is safe by HTTP is asked for."""
    script = """
        fetch('/a.json').then((answer) => answer.json()).then((text) => document.body.append(text));
        for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) fetch('/' + method, { method }).catch(() => 0)
    """
    there = {"content-type": "text/javascript", "access-control-allow-origin": "*"}
    shelf = Shelf(
        {
            "site.example/a.js": Resource(200, {"content-type": "text/javascript"}, script.encode()),
            "/a.json": Resource(200, {"content-type": "application/json"}, b'"brought later"'),
            "other.example/b.js": Resource(200, there, b"document.body.append('from elsewhere')"),
        }
    )
    html = "<script src=/a.js></script><script crossorigin src=https://other.example/b.js></script>"

    answer = shown(browser, a_showing(html, scripts=True), shelf)

    assert "brought later" in (answer.html or "")
    assert "from elsewhere" in (answer.html or "")
    assert sorted(wanted.kind for wanted in shelf.wanted) == ["fetch", "script", "script"]
    assert len(answer.refused) == 4


def test_a_page_is_shown_without_what_does_not_come(browser):
    shelf = Shelf(
        {
            "/failed.css": OSError("no route"),
            "/redirect.css": Resource(301, {"location": "http://site.example/b.css"}, b""),
            "/no-status.css": Resource(0, {}, b""),
        }
    )

    def fetch(wanted: WantedResource) -> "Future[Resource | None]":
        if wanted.url.endswith("/raises.css"):
            raise RuntimeError("broken")
        return shelf.fetch(wanted)

    names = ("refused", "failed", "redirect", "no-status", "raises")
    links = "".join(f"<link rel=stylesheet href=/{name}.css>" for name in names)
    seen = browser.show(a_showing(f"{links}<p>text"), fetch).result(PATIENCE_SECONDS)

    assert seen.fetched == 0
    assert set(seen.refused) == {f"http://site.example/{name}.css" for name in names}
    assert sum(run.chars for run in seen.snapshot.runs if run.is_seen) == 4


def test_a_page_gets_a_bounded_number_of_resources(browser):
    shelf = Shelf({".css": style("b { color: red }")})
    links = "".join(f"<link rel=stylesheet href=/{number}.css>" for number in range(MOST_RESOURCES + 30))

    answer = shown(browser, a_showing(links), shelf)

    assert (answer.fetched, len(shelf.wanted)) == (MOST_RESOURCES, MOST_RESOURCES)
    assert len(answer.refused) == 20


def test_a_page_gets_a_bounded_number_of_bytes(browser):
    shelf = Shelf({".css": style("/*" + "a" * (MOST_RESOURCE_BYTES // 3) + "*/")})
    links = "".join(f"<link rel=stylesheet href=/{number}.css>" for number in range(6))

    assert shown(browser, a_showing(links), shelf).fetched == 2


@pytest.mark.parametrize(("margin", "height", "drawn"), [(0, 1984, 2000), (8, 9000, MOST_PICTURE_HEIGHT)])
def test_the_picture_is_as_high_as_the_page_and_of_a_long_one_shows_its_upper_part(browser, margin, height, drawn):
    answer = shown(browser, a_showing(f"<p style='height: {height}px; margin: {margin}px'>text", picture=True))

    assert answer.picture is not None
    assert _size(answer.picture) == (WIDTH, drawn) == (1366, drawn)
    assert min(answer.snapshot.height, MOST_PICTURE_HEIGHT) == drawn


def test_a_drawing_has_the_size_asked_for_and_may_hold_a_picture(browser):
    blue = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><rect width='90' height='90'/></svg>"
    with_picture, without = (
        browser.draw(f'<img src="{source}" width=90 height=90>', 320, 1200).result(PATIENCE_SECONDS)
        for source in (blue, "")
    )

    assert isinstance(with_picture, bytes)
    assert _size(with_picture) == (320, 1200)
    assert with_picture != without


def test_nothing_of_a_page_is_left_for_the_next(browser):
    leave = "document.cookie = 'a=b; max-age=9999'; localStorage.a = 'left'; indexedDB.open('left')"
    look = "document.body.append(document.cookie + '|' + localStorage.length)"

    shown(browser, a_showing(f"<script>{leave}</script>", scripts=True))
    answer = shown(browser, a_showing(f"<script>{look}</script>", scripts=True))

    assert (answer.html or "").count("</script>|0") == 1


class Held:
    """Fetches when it is told to, and notes how many pages wait."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.most = 0
        self._waiting: list[Future[Resource | None]] = []
        self._lock = threading.Lock()

    def fetch(self, _: WantedResource) -> "Future[Resource | None]":
        future: Future[Resource | None] = Future()
        with self._lock:
            self._waiting.append(future)
            self.most = max(self.most, sum(not waiting.done() for waiting in self._waiting))
        threading.Thread(target=self._answer, args=(future,), daemon=True).start()
        return future

    def _answer(self, future: "Future[Resource | None]") -> None:
        self.go.wait(PATIENCE_SECONDS)
        if not future.cancelled():
            future.set_result(None)


def test_two_pages_are_shown_at_once_and_no_more(browser):
    held = Held()
    answers = [browser.show(a_showing("<link rel=stylesheet href=/a.css>"), held.fetch) for _ in range(3)]
    deadline = time.monotonic() + 20
    while held.most < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    held.go.set()

    assert all(isinstance(answer.result(PATIENCE_SECONDS), RenderedPage) for answer in answers)
    assert held.most == 2


def test_a_page_that_is_not_wanted_any_more_leaves_its_place(browser):
    held = Held()
    given_up = [browser.show(a_showing("<link rel=stylesheet href=/a.css>"), held.fetch) for _ in range(4)]
    for answer in given_up:
        answer.cancel()

    shown(browser, a_showing("<p>text"))
    held.go.set()


def test_it_serves_a_caller_that_has_a_loop_of_its_own(browser):
    async def show() -> RenderedPage | NotShown:
        return await asyncio.wrap_future(browser.show(a_showing("<p>text"), Shelf().fetch))

    assert isinstance(asyncio.run(show()), RenderedPage)
