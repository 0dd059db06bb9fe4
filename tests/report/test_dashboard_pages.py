"""The dashboard's drawing functions: what they say, and that nothing foreign gets out of its place."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.dashboard_domains import change_content, domains_content, query_of
from scrapy_dedup.report.dashboard_frame import Action, Flash, Nav, render_page
from scrapy_dedup.report.dashboard_overview import overview_content
from scrapy_dedup.report.dashboard_runs import changes_panel, run_content, runs_content
from scrapy_dedup.report.dashboard_values import (
    DomainRow,
    DomainTable,
    FoundChange,
    FrontPage,
    JobRow,
    RunPage,
    RunRow,
    Step,
    TableChoice,
)
from scrapy_dedup.report.markup import Html, joined
from scrapy_dedup.report.numbers import lasting
from tests.report.builders import a_domain, an_alarm
from tests.report.hostile import ALL, a_hostile_ledger

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAV = Nav("0c3d", ALL, (("0c3d", ALL), ("other", ALL * 1000)), "runs")
VOID = {"meta", "link", "input", "br", "img"}
HANDLED = {"script": ("src", "defer")}


class Checked(HTMLParser):
    """Fails where a tag is not closed, or where an element is none of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"], tag
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checked:
    """Return a document's elements; scripts come from the server alone, links lead to it or to the web."""
    found = Checked()
    found.feed(html)
    assert found.open == []
    for tag, attributes in found.seen:
        assert tag != "script" or (attributes.get("src") or "").startswith("/static/")
        assert tag not in ("iframe", "img", "object", "embed", "style", "base")
        target = attributes.get("href") or attributes.get("action") or ""
        assert target.startswith(("/", "#", "?", "http://", "https://", "data:,")) or not target
    return found


def page(content: Html, flash: Flash | None = None) -> str:
    return render_page(ALL, content, nav=NAV, csrf_token='t"oken', flash=flash)


def a_run(**changes: object) -> RunRow:
    values = {"id": "7" * 32, "spider": ALL, "status": ALL, "reason": ALL, "began_at": NOON, **changes}
    return RunRow(**values)  # type: ignore[arg-type]


def hostile_pages() -> dict[str, Html]:
    """Return every page of the first part with hostile text in every field that can hold text."""
    ledger = a_hostile_ledger()
    run = a_run(status="running", silent=timedelta(hours=1), verdicts={ALL: 1, "new": 2}, counts={ALL: 1.5, "x": 2})
    changes = (FoundChange(ALL, "00", ALL, ALL, NOON), FoundChange(None, ALL, None, ALL, NOON))
    of_run = RunPage(run, ledger, "new", changes)
    row = DomainRow(ALL, ALL, 1, 9, 3, 0.5, 0.5, 1, NOON, ALL, ALL, ALL, NOON)
    long = DomainRow("d" * 10_000_000, "s" * 10_000_000, 1, 9, 3, 0.5, blacklist_reason="r" * 10_000_000)
    table = DomainTable((row, long), 2, ALL, {ALL: 1, "DISCOVERED": 2}, 2, 1)
    choice = TableChoice(ALL, ALL, ALL, descending=True, after=ALL)
    job = JobRow("1", ALL, "running", NOON, None, 3, 10, "e" * 10_000_000)
    front = FrontPage(
        NOON,
        1,
        1,
        1,
        9,
        3,
        worst=(a_domain(ALL),),
        ledger=ledger,
        steps=(run,),
        alarms=(an_alarm(ALL, domain=ALL),) * 99,
    )
    sent = {"names": ALL, "reason": ALL * 100, "until": ALL}
    return {
        "overview": overview_content(front, NAV),
        "quick overview": overview_content(replace(front, is_quick=True), NAV),
        "empty": overview_content(FrontPage(NOON, 0, 0, 0, 0, 0), NAV),
        "domains": domains_content(table, choice, NAV, csrf_token=ALL),
        "change": change_content("blacklist", [Step(ALL, ALL)] * 2_000, sent, NAV, csrf_token=ALL, wrong=ALL),
        "runs": runs_content((run, a_run()), (job,), NAV, csrf_token=ALL, more=Html("")),
        "run": joined([run_content(of_run, NAV), changes_panel(of_run, NAV)]),
    }


@pytest.mark.parametrize("name", hostile_pages())
def test_hostile_text_is_text_and_bounded(name: str) -> None:
    flash = Flash(ALL * 1000, "wrong", Action(ALL, "/undo", (("field", ALL),)))

    html = page(hostile_pages()[name], flash)

    checked(html)
    assert len(html) < 1_000_000
    assert "\u202e" not in re.sub(r'value="[^"]*"', "", html)


@given(st.text(), st.text(), st.text())
def test_any_text_leaves_the_page_whole(name: str, reason: str, pattern: str) -> None:
    row = DomainRow(name, "BLACKLISTED", 1, 2, 1, 0.5, blacklist_reason=reason)
    table = DomainTable((row,), 1, None, {"BLACKLISTED": 1})

    checked(page(domains_content(table, TableChoice(pattern), NAV, csrf_token="x")))


@pytest.mark.parametrize(
    ("choice", "changed", "query"),
    [
        pytest.param(TableChoice(), {}, "", id="nothing-chosen"),
        pytest.param(TableChoice("a b", "BLACKLISTED"), {}, "q=a+b&status=BLACKLISTED", id="filter"),
        pytest.param(
            TableChoice(after="x"), {"sort": "pages"}, "sort=pages&order=up", id="other-order-begins-at-the-top"
        ),
        pytest.param(
            TableChoice(sort="pages", descending=True), {"after": "x"}, "after=x&sort=pages&order=down", id="on"
        ),
    ],
)
def test_query_says_what_is_chosen(choice: TableChoice, changed: dict[str, str], query: str) -> None:
    assert query_of(choice, **changed) == query


@pytest.mark.parametrize(
    ("took", "told"),
    [
        pytest.param(timedelta(seconds=4), "4 s", id="seconds"),
        pytest.param(timedelta(minutes=3, seconds=20), "3 min 20 s", id="minutes"),
        pytest.param(timedelta(hours=2, minutes=5), "2 h 05 min", id="hours"),
        pytest.param(timedelta(days=3, hours=4), "3 d 4 h", id="days"),
        pytest.param(timedelta(seconds=-1), "0 s", id="clocks-differ"),
    ],
)
def test_time_in_its_two_largest_units(took: timedelta, told: str) -> None:
    assert lasting(took).replace("\N{NO-BREAK SPACE}", " ") == told


def test_place_that_is_open_is_marked() -> None:
    found = checked(page(Html("<h1>x</h1>")))

    current = [attributes["href"] for tag, attributes in found.seen if tag == "a" and "aria-current" in attributes]
    assert current == ["/p/0c3d/runs"]
