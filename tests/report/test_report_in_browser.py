"""The report as a browser shows it: on a desk and on a phone, by day and by night."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from scrapy_dedup.report.documents import render_explanation, render_report
from tests.browser import Scheme, opened, shared_chromium
from tests.report.builders import (
    a_full_report,
    a_large_report,
    a_recrawl,
    a_report,
    a_sample,
    an_explained_page,
    removed,
)
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
REPORTS = {"plain": a_report, "full": a_full_report, "large": a_large_report, "hostile": a_hostile_report}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with shared_chromium() as running:
        yield running


@pytest.fixture(scope="module", params=REPORTS)
def report_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render_report(REPORTS[request.param]()), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_report_asks_for_nothing_complains_of_nothing_and_fits(
    browser: Browser, report_url: str, width: int, scheme: Scheme
) -> None:
    with opened(browser, report_url, width=width, scheme=scheme) as shown:
        # What is folded away must fit as well.
        shown.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")

        assert shown.requests_elsewhere == []
        assert shown.complaints == []
        assert shown.overhang <= 0


@pytest.mark.parametrize(("width", "columns"), [(1280, 2), (390, 1)])
def test_before_and_after_stand_side_by_side_where_there_is_room(
    browser: Browser, report_url: str, width: int, columns: int
) -> None:
    with opened(browser, report_url, width=width) as shown:
        before, after = shown.page.locator(".sample .panes").first.locator(".pane").all()
        before_box, after_box = before.bounding_box(), after.bounding_box()

        assert before_box
        assert after_box
        assert len({before_box["x"], after_box["x"]}) == columns


@pytest.mark.parametrize(("width", "columns"), [(1280, 2), (390, 1)])
def test_what_changed_stands_side_by_side_where_there_is_room(
    browser: Browser, tmp_path: Path, width: int, columns: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(a_report(recrawl=a_recrawl())), encoding="utf-8")

    with opened(browser, file.as_uri(), width=width) as shown:
        hunk = shown.page.locator(".hunk").first
        was, now = hunk.locator(".was").bounding_box(), hunk.locator(".now").bounding_box()

        assert was
        assert now
        assert len({was["x"], now["x"]}) == columns
        assert len({was["y"], now["y"]}) == 3 - columns
        assert shown.page.get_by_text("Before", exact=True).first.is_visible() is (columns == 2)


def test_dark_is_dark_and_readable(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(a_full_report()), encoding="utf-8")

    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        with opened(browser, file.as_uri(), width=390, scheme=scheme) as shown:
            ground = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (_luminance(ground) < 0.2) is (scheme == "dark")
            for selector in (*COMMON, *DIFF, *LAYOUTS, *LEDGER):
                ink, behind = shown.page.evaluate(COLOURS, selector)
                assert _contrast(ink, behind) >= 4.5, (scheme, selector)


def test_reason_is_there_for_mouse_keyboard_and_finger(browser: Browser, tmp_path: Path) -> None:
    blocks = tuple(removed(f"Menu entry {number}") for number in range(12))
    file = tmp_path / "report.html"
    file.write_text(render_report(a_report(samples=(a_sample(blocks=blocks),))), encoding="utf-8")

    with opened(browser, file.as_uri(), width=390) as shown:
        assert shown.page.locator(".reason").first.is_visible()
        assert "on 39 of 40 pages" in (shown.page.locator(".cut p[title]").first.get_attribute("title") or "")
        last = shown.page.get_by_text("Menu entry 11")
        assert not last.is_visible()
        shown.page.locator(".cut summary").focus()
        shown.page.keyboard.press("Enter")
        assert last.is_visible()


def test_nothing_that_a_page_says_runs(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(a_hostile_report()), encoding="utf-8")

    with opened(browser, file.as_uri(), width=1280) as shown:
        assert shown.page.evaluate("window.hacked") is None
        assert HOSTILE in shown.page.locator(".sample h3").first.inner_text()


COLOURS = """selector => {
  let at = document.querySelector(selector);
  const ink = getComputedStyle(at).color;
  while (at && getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement;
  return [ink, getComputedStyle(at || document.body).backgroundColor];
}"""


def _luminance(colour: str) -> float:
    """Relative luminance, 0 to 1, after WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_explained_page_fits_loads_nothing_and_is_readable(
    browser: Browser, tmp_path: Path, width: int, scheme: Scheme
) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_explanation(an_explained_page()), encoding="utf-8")

    with opened(browser, file.as_uri(), width=width, scheme=scheme) as shown:
        assert (shown.overhang, shown.requests_elsewhere, shown.complaints) == (0, [], [])
        for selector in EXPLAINED:
            ink, behind = shown.page.evaluate(COLOURS, selector)
            assert _contrast(ink, behind) >= 4.5, (scheme, selector)


def test_nothing_that_an_explained_page_says_runs(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_explanation(a_hostile_page()), encoding="utf-8")

    with opened(browser, file.as_uri(), width=390) as shown:
        assert shown.page.evaluate("window.hacked") is None
        assert (shown.overhang, shown.requests_elsewhere) == (0, [])
