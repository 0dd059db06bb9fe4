"""The report as a browser shows it: on a desk and on a phone, by day and by night."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, FloatRect, Locator

from scrapy_dedup.report.drawing import render_explanation, render_report
from scrapy_dedup.report.values import Report
from tests.browser import Observed, Scheme, opened, shared_chromium
from tests.report.builders import a_full_report, a_large_report, a_report, a_sample, an_explained_page, removed
from tests.report.hostile import HOSTILE, a_hostile_page, a_hostile_report

pytestmark = pytest.mark.browser

LAYOUTS = (".cause", ".alarms .meta", ".badge.live", ".kind code", ".rules .note", ".would .reason", ".shadow .lead")
DIFF = (".was del", ".was mark", ".was .sign", ".now ins", ".now mark", ".now .sign")
COMMON = ("body", ".meta", ".reason", ".cut del", "thead th", "h1 em", "a")
LEDGER = (".wide td", ".wide .note", ".savings .figures", "td.idle")
EXPLAINED = (
    ".pane .by-boilerplate .reason",
    ".pane .by-boilerplate del",
    ".pane .by-patterns .badge",
    ".pane .by-patterns .key",
    ".chunks .by-chunk .reason",
    ".chunks .by-language del",
    ".chunks .by-language .meta",
    ".badge.live",
    ".facts dt",
    ".summary em",
)


def a_wide_report() -> Report:
    """Two of the large one's twelve sites: they are as wide as all of them."""
    large = a_large_report()
    return replace(large, layouts=large.layouts[:2])


REPORTS = {"full": a_full_report, "large": a_wide_report, "hostile": a_hostile_report}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with shared_chromium() as running:
        yield running


Look = tuple[int, Scheme]
# Each width and each theme once.
LOOKS: tuple[Look, ...] = ((1280, "light"), (390, "dark"), (320, "light"))


@contextmanager
def reading(browser: Browser, folder: Path, html: str) -> Iterator[Observed]:
    """Yield a document that is open on a desk, by day."""
    file = folder / "document.html"
    file.write_text(html, encoding="utf-8")
    with opened(browser, file.as_uri(), width=1280) as shown:
        yield shown


def look(shown: Observed, width: int, scheme: Scheme) -> None:
    shown.page.set_viewport_size({"width": width, "height": 900})
    shown.page.emulate_media(color_scheme=scheme)


def places(parts: Locator) -> tuple[FloatRect, FloatRect]:
    first, second = (part.bounding_box() for part in parts.all())
    assert first
    assert second
    return first, second


@pytest.mark.parametrize("report", REPORTS)
def test_report_asks_for_nothing_complains_of_nothing_and_fits(browser, tmp_path, report):
    with reading(browser, tmp_path, render_report(REPORTS[report]())) as shown:
        for width, scheme in LOOKS:
            look(shown, width, scheme)
            before, after = places(shown.page.locator(".sample .panes").first.locator(".pane"))
            assert (before["x"] != after["x"]) is (width == 1280), "side by side where there is room"
            # What is folded away must fit as well.
            shown.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            assert shown.overhang <= 0

        assert (shown.requests_elsewhere, shown.complaints) == ([], [])
        assert shown.page.evaluate("window.hacked") is None
        assert report != "hostile" or HOSTILE in shown.page.locator(".sample h3").first.inner_text()


def test_dark_is_dark_and_readable_and_what_changed_stands_side_by_side_where_there_is_room(browser, tmp_path):
    with reading(browser, tmp_path, render_report(a_full_report())) as shown:
        for (width, scheme), columns in zip(LOOKS, (2, 1), strict=False):
            look(shown, width, scheme)
            was, now = places(shown.page.locator(".hunk").first.locator(".was, .now"))
            assert len({was["x"], now["x"]}) == columns
            assert len({was["y"], now["y"]}) == 3 - columns
            assert shown.page.get_by_text("Before", exact=True).first.is_visible() is (columns == 2)
            if columns == 2:
                heads, hunk = places(shown.page.locator(".diff").first.locator(".heads, .heads + .hunk"))
                assert hunk["y"] == heads["y"] + heads["height"], "no stripe between them"

            ground = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (_luminance(ground) < 0.2) is (scheme == "dark")
            assert_readable(shown, scheme, (*COMMON, *DIFF, *LAYOUTS, *LEDGER))


def test_reason_is_there_for_mouse_keyboard_and_finger(browser, tmp_path):
    blocks = tuple(removed(f"Menu entry {number}") for number in range(12))

    with reading(browser, tmp_path, render_report(a_report(samples=(a_sample(blocks=blocks),)))) as shown:
        look(shown, 390, "light")
        assert shown.page.locator(".reason").first.is_visible()
        assert "on 39 of 40 pages" in (shown.page.locator(".cut p[title]").first.get_attribute("title") or "")
        last = shown.page.get_by_text("Menu entry 11")
        assert not last.is_visible()
        shown.page.locator(".cut summary").focus()
        shown.page.keyboard.press("Enter")
        assert last.is_visible()


@pytest.mark.parametrize("page", [an_explained_page, a_hostile_page])
def test_an_explained_page_fits_loads_nothing_runs_nothing_and_is_readable(browser, tmp_path, page):
    with reading(browser, tmp_path, render_explanation(page())) as shown:
        for width, scheme in LOOKS[:2]:
            look(shown, width, scheme)
            assert shown.overhang == 0
            assert_readable(shown, scheme, EXPLAINED if page is an_explained_page else ())
        assert (shown.requests_elsewhere, shown.complaints) == ([], [])
        assert shown.page.evaluate("window.hacked") is None


COLOURS = """selector => {
  let at = document.querySelector(selector);
  const ink = getComputedStyle(at).color;
  while (at && getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement;
  return [ink, getComputedStyle(at || document.body).backgroundColor];
}"""


def assert_readable(shown: Observed, scheme: Scheme, selectors: Iterable[str]) -> None:
    for selector in selectors:
        ink, behind = shown.page.evaluate(COLOURS, selector)
        assert _contrast(ink, behind) >= 4.5, (scheme, selector)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)
