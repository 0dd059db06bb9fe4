"""Whatever becomes of the browser or a page of it: an answer in bounded time, and no process left."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from scrapy_dedup.teacher import NotShown, NotShownReason, RenderedPage, Resource, Showing, WantedResource
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher.rendering import MOST_HTML_BYTES
from tests.browser import required_chromium
from tests.teacher.showing import PATIENCE_SECONDS, Shelf, a_showing, not_shown, shown, teacher

MARK = "DEDUP_TEST_MARK"


def marked(mark: str) -> set[int]:
    """Return all processes that have the mark in their environment, however they were started."""
    word, found = f"{MARK}={mark}".encode(), set()
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError):
                if word in (each / "environ").read_bytes() and not _is_dead(int(each.name)):
                    found.add(int(each.name))
    return found


def below(process: int) -> set[int]:
    """Return the processes that this one and those below it have started."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int(_stat(int(each.name))[1])
                children.setdefault(parent, []).append(int(each.name))
    found: set[int] = set()
    waiting = [process]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


def kind(process: int) -> str:
    """Return what a process of Chromium is for: `renderer`, `gpu-process` ...; empty for the browser itself."""
    return next((word[7:] for word in words(process) if word.startswith("--type=")), "")


def words(process: int) -> list[str]:
    """Return by which words a process was started; none where it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").split()
    return []


def are_gone(processes: set[int], *, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not all(map(_is_dead, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_dead(process: int) -> bool:
    try:
        return _stat(process)[0] == "Z"
    except (OSError, IndexError):
        return True


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc"),
]

FINE = a_showing("<p>text</p>")
WAITING = a_showing("<p>text</p><link rel=stylesheet href=/never.css>")


class Never:
    """Fetches nothing and never says so."""

    def __init__(self) -> None:
        self.asked: Future[WantedResource] = Future()
        self.answer: Future[Resource | None] = Future()

    def fetch(self, wanted: WantedResource) -> "Future[Resource | None]":
        self.asked.set_result(wanted)
        return self.answer


def _until(found: Callable[[], set[int]]) -> set[int]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (answer := found()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def _browsers(mark: str) -> set[int]:
    return {process for process in marked(mark) if "--remote-debugging-pipe" in words(process) and not kind(process)}


def _kill(processes: set[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):  # it may have ended by itself meanwhile
            os.kill(process, signal.SIGKILL)


def _kill_browser(mark: str) -> None:
    processes = _until(lambda: _browsers(mark))
    _kill(processes)
    assert processes
    assert are_gone(processes)


@pytest.fixture
def mark(monkeypatch) -> str:
    """Marks the processes that are started from here on."""
    mark = uuid4().hex
    monkeypatch.setenv(MARK, mark)
    return mark


class TestTheBrowser:
    def test_that_loses_its_driver_is_started_once_more_and_after_its_second_end_never(self, mark):
        with teacher() as browser:
            shown(browser, FINE)
            drivers = {process for process in marked(mark) if process in _children()}
            _kill(drivers)
            assert drivers
            assert are_gone(drivers)

            shown(browser, FINE)
            _kill_browser(mark)
            third = not_shown(browser, FINE)

        assert third.reason is NotShownReason.NO_LAUNCH
        assert third.is_lasting
        assert are_gone(marked(mark))

    def test_that_is_killed_during_a_page_costs_that_page_and_closed_cancels_what_waits(self, mark):
        with teacher() as browser:
            never = Never()
            lost = browser.show(WAITING, never.fetch)
            never.asked.result(PATIENCE_SECONDS)
            _kill_browser(mark)
            answer = lost.result(PATIENCE_SECONDS)
            shown(browser, FINE)

            never = Never()
            waiting = [browser.show(WAITING, never.fetch), *(browser.show(FINE, Shelf().fetch) for _ in range(4))]
            never.asked.result(PATIENCE_SECONDS)
            browser.close()
            browser.close()
            late = browser.show(FINE, Shelf().fetch)

        assert getattr(answer, "reason", None) is NotShownReason.CRASHED
        assert waiting[0].cancelled()
        assert all(answer.done() for answer in waiting)
        with pytest.raises(CancelledError):
            late.result(1)
        assert are_gone(marked(mark))

    def test_that_is_no_browser_is_never_asked_again(self, tmp_path):
        count = tmp_path / "count"
        program = tmp_path / "chromium"
        program.write_text(f"#!/bin/sh\necho started >> '{count}'\nexit 7\n")
        program.chmod(0o755)

        with Browser(str(program)) as browser:
            answers = [not_shown(browser, FINE) for _ in range(3)]

        assert {answer.reason for answer in answers} == {NotShownReason.NO_LAUNCH}
        assert str(program) in answers[0].detail
        assert count.read_text() == "started\n"

    def test_that_says_nothing_is_given_up(self, tmp_path, mark):
        program = tmp_path / "chromium"
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)

        with Browser(str(program), timeout=timedelta(seconds=1)) as browser:
            assert not_shown(browser, FINE).reason is NotShownReason.NO_LAUNCH

        assert are_gone(marked(mark))

    def test_that_is_not_there_is_no_reason_to_fail(self):
        with Browser("/no/such/chromium") as browser:
            answer = not_shown(browser, FINE)

        assert answer.reason is NotShownReason.NO_BROWSER
        assert answer.is_lasting


def _children() -> set[int]:
    deeper = {process for child in below(os.getpid()) for process in below(child)}
    return below(os.getpid()) - deeper


class TestClosing:
    def test_of_one_that_was_never_started_starts_nothing(self):
        before = below(os.getpid())
        Browser().close()

        assert below(os.getpid()) - before == set()

    @pytest.mark.parametrize(
        "end", ["", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], ids=["at-its-end", "killed"]
    )
    def test_is_done_for_whoever_ends_without(self, mark, end):
        path = required_chromium()
        program = f"""
from scrapy_dedup.teacher.browser import Browser
from tests.teacher.showing import Shelf, a_showing
browser = Browser({path!r})
browser.show(a_showing("a"), Shelf().fetch).result(60)
waiting = browser.show(a_showing("<script>for (;;);</script>", scripts=True), Shelf().fetch)
print("shown", flush=True)
{end}
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=False)

        assert done.stdout == "shown\n"
        assert done.stderr == ""
        assert are_gone(marked(mark))


HABITS = {
    "dialogs-rights-and-a-failure": "alert(1); confirm(2); prompt(3); print(); document.body.requestFullscreen();"
    " Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0); throw new Error('a')",
    "stays-opens-downloads-and-closes": "onbeforeunload = (event) => { event.preventDefault(); return 'stay' };"
    " for (let n = 0; n < 50; n++) open('about:blank');"
    " document.links[0].click(); document.links[1].click(); close()",
    "writes-itself-anew": "document.open(); document.write('<p>other'); document.close()",
    "breaks-its-tools": "Array.prototype.push = () => { throw 1 }; JSON.stringify = null;"
    " window.getComputedStyle = null; Element.prototype.getAttribute = null",
    "never-rests": "setInterval(() => document.body.append('x'), 1)",
}
NAMES = "<form><input name=attributes><input name=id></form><img name=body><img name=createRange>"
SHAPES = {
    # More than are looked at: 20,000.
    "deep": "<div>" * 21_000 + "a",
    "many": "<p>a" * 21_000,
    "deep-inline": "<b>" * 3_000 + "a",
    "vast-with-tables-in-tables": f"{NAMES}<p style='height:1e9px;width:1e9px'>a" + "<table><td>" * 300 + "a",
    "no-text": "\x00\ud800<p>\uffff",
    "gone": "<script>document.documentElement.remove()</script>",
}
DRAWN = {"deep", "many", "vast-with-tables-in-tables"}

Answers = dict[str, "Future[RenderedPage | NotShown]"]


@pytest.fixture(scope="module")
def habits(browser) -> Answers:
    """All of them at once: most of their time is waiting."""
    return {name: browser.show(_of_habit(name), Shelf().fetch) for name in HABITS}


def _of_habit(name: str) -> Showing:
    links = "<a download=a.txt href='data:text/plain,a'>a</a><a target=_blank href=/other>b</a>"
    return a_showing(f"<p>text</p>{links}<script>{HABITS[name]}</script>", scripts=True)


@pytest.fixture(scope="module")
def shapes(browser) -> Answers:
    return {
        name: browser.show(a_showing(html, scripts="<script" in html, picture=name in DRAWN), Shelf().fetch)
        for name, html in SHAPES.items()
    }


class TestAPage:
    def test_that_never_ends_is_given_up_and_one_whose_style_sheet_never_comes_is_shown_without(self):
        # The first computes only once the time for its style sheet is over.
        at_once = "<p>a</p><link rel=stylesheet href=/never.css><script>for (;;);</script>"
        later = "<p>a</p><script>onload = () => setTimeout(() => { for (;;); }, 100)</script>"
        never, other = Never(), Never()
        with teacher(timedelta(seconds=6)) as browser:
            waiting = [
                browser.show(a_showing(at_once, scripts=True), other.fetch),
                browser.show(WAITING, never.fetch),
                browser.show(a_showing(later, scripts=True), Shelf().fetch),
            ]
            first, without, last = [answer.result(PATIENCE_SECONDS) for answer in waiting]
            if getattr(without, "reason", None) is NotShownReason.TIMEOUT:  # on a machine that stands still
                never = Never()
                without = browser.show(WAITING, never.fetch).result(PATIENCE_SECONDS)
            shown(browser, FINE)

        assert [getattr(answer, "reason", None) for answer in (first, last)] == [NotShownReason.TIMEOUT] * 2
        assert getattr(without, "refused", None) == ("http://site.example/never.css",)
        assert never.answer.cancelled()

    @pytest.mark.parametrize("name", HABITS)
    def test_with_odd_habits_is_shown(self, browser, habits, name):
        answer = habits[name].result(len(HABITS) * PATIENCE_SECONDS)

        # On a machine that does much else, by itself.
        assert isinstance(answer, RenderedPage) or shown(browser, _of_habit(name))

    def test_that_takes_all_memory_ends_alone(self, browser):
        script = "const a = []; for (;;) a.push(new Uint8Array(2e8).fill(1))"
        answer = not_shown(browser, a_showing(f"<p>a</p><script>{script}</script>", scripts=True))

        assert answer.reason is NotShownReason.CRASHED
        shown(browser, FINE)

    def test_whose_process_ends_costs_that_page_alone(self, browser):
        never = Never()
        lost = browser.show(WAITING, never.fetch)
        never.asked.result(PATIENCE_SECONDS)
        _kill({process for process in below(os.getpid()) if kind(process) == "renderer"})

        answer = lost.result(PATIENCE_SECONDS)

        assert getattr(answer, "reason", None) is NotShownReason.CRASHED
        shown(browser, FINE)

    @pytest.mark.parametrize(
        ("html", "scripts"),
        [
            pytest.param("a" * MOST_HTML_BYTES, False, id="from-the-start"),
            pytest.param("\u20ac" * (MOST_HTML_BYTES // 2), False, id="in-bytes"),
            pytest.param("<script>document.write('a'.repeat(3e6))</script>", True, id="by-scripts"),
        ],
    )
    def test_that_is_too_large_is_not_shown(self, browser, html, *, scripts):
        assert not_shown(browser, a_showing(html, scripts=scripts)).reason is NotShownReason.TOO_LARGE

    @pytest.mark.parametrize("name", SHAPES)
    def test_of_any_shape_has_an_answer(self, shapes, name):
        answer = shapes[name].result(len(SHAPES) * PATIENCE_SECONDS)

        assert isinstance(answer, RenderedPage) or answer.reason in {NotShownReason.TIMEOUT, NotShownReason.FAILED}

    def test_of_any_shape_leaves_the_browser_as_it_was(self, browser, shapes):
        wait(shapes.values(), len(SHAPES) * PATIENCE_SECONDS)

        shown(browser, FINE)
