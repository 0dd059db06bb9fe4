"""The dashboard's pages: what they say, and that nothing foreign gets out of its place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.report.dashboard_values import (
    ConfigView,
    Decided,
    DomainRow,
    DomainTable,
    FoundChange,
    FrontPage,
    KeepView,
    PageView,
    PreviewEffect,
    PreviewLine,
    PreviewView,
    RunPage,
    RunRow,
    Step,
    TableChoice,
    TemplateDiffView,
    TemplateTrial,
    TrialEffect,
)
from scrapy_dedup.report.nav import Action, Flash, Nav
from scrapy_dedup.report.numbers import lasting
from scrapy_dedup.report.values import Rule
from scrapy_dedup.service.jobs import Job, JobState
from tests.report.builders import a_diff, a_domain, an_alarm
from tests.report.dashboard import checked, drawn
from tests.report.hostile import ALL, HOSTILE, a_hostile_ledger, a_hostile_page, without_values
from tests.report.test_dashboard_domain import a_hostile_view
from tests.report.test_dashboard_templates import a_version, a_view

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAV = Nav("0c3d", ALL, (("0c3d", ALL), ("other", ALL * 1000)))
LONG = 10_000_000


def a_run(**changes: object) -> RunRow:
    values = {"id": "7" * 32, "spider": ALL, "status": ALL, "reason": ALL, "began_at": NOON, **changes}
    return RunRow(**values)  # type: ignore[arg-type]


def hostile_pages() -> dict[str, tuple[str, dict[str, object]]]:
    """Return templates of all pages and pieces, with hostile text in every field that can hold text."""
    ledger = a_hostile_ledger()
    run = a_run(status="running", silent=timedelta(hours=1), verdicts={ALL: 1, "new": 2}, counts={ALL: 1.5, "x": 2})
    changes = (FoundChange(ALL, "00", ALL, ALL, NOON), FoundChange(None, ALL, None, ALL, NOON))
    row = DomainRow(ALL, ALL, 1, 9, 3, 0.5, 0.5, 1, NOON, ALL, ALL, ALL, NOON)
    long = DomainRow("d" * LONG, "s" * LONG, 1, 9, 3, 0.5, blacklist_reason="r" * LONG)
    table = DomainTable((row, long), 2, ALL, {ALL: 1, "DISCOVERED": 2}, 2, 1)
    job = Job(UUID(int=1), ALL, ALL, NOON, JobState.RUNNING, 3, 10, error="e" * LONG)
    front = FrontPage(
        NOON, 1, 1, 1, 9, 3, (a_domain(ALL),), ledger, (run,), alarms=(an_alarm(ALL, domain=ALL),) * 99
    )  # fmt: skip
    sent = {"names": ALL, "reason": ALL * 100, "until": ALL}
    change: dict[str, object] = {"verb": "blacklist", "steps": [Step(ALL, ALL)] * 2_000, "sent": sent, "wrong": ALL}
    diff = TemplateDiffView(1, 2, ((ALL, "s" * LONG),) * 500, ((ALL, ALL),) * 500, (VerdictChange(ALL, ALL, ALL, ALL),))
    template = a_view(
        domain=ALL,
        layout=ALL,
        kind=ALL,
        url_pattern="u" * LONG,
        shown=a_version(state=ALL, reason=ALL),
        versions=(a_version(state=ALL, source=ALL, reason="r" * LONG),) * 20,
        content=(Rule("s" * LONG, "e" * LONG),) * 1_000,
        left_out=(Rule(ALL, ALL),) * 1_000,
        fields=(Rule(ALL, ALL),),
        decided=(Decided(ALL, ALL, ALL, ALL),),
        diff=diff,
        error=ALL,
        typed=("keep", f'">{HOSTILE}'),
    )
    trial = TemplateTrial(20, (TrialEffect(ALL, (ALL,) * 50, ("t" * LONG,)),) * 50)
    keep = KeepView(ALL, ALL, ALL * 100, "s" * LONG, 1, 2, 1, -5, ALL, was_there=False, take_back=False, back="/")
    page = PageView(a_hostile_page(), ALL, "0" * 32, diff=a_diff("-" + ALL, "+" + "e" * LONG), kept=frozenset({ALL}))
    lines = (
        PreviewLine(ALL + "p" * LONG, "goes", ALL, ALL, ALL),
        PreviewLine(ALL, "back", ALL),
        PreviewLine(ALL, "kept"),
    )
    preview = PreviewView(
        ALL, lines * 1_000, 1, 1, (PreviewEffect(ALL, 1, 1),) * 5_000, ((ALL, ALL),) * 5_000, "a" * LONG
    )
    typed = {"keep_rules": f"</textarea>{HOSTILE}"}
    config = ConfigView(ALL, 1, typed, errors={"keep_rules": ALL * 100}, preview=preview, conflict=ALL)
    return {
        "overview": ("overview.html", {"front": front}),
        "quick overview": ("overview.html", {"front": replace(front, is_quick=True)}),
        "empty overview": ("overview.html", {"front": FrontPage(NOON, 0, 0, 0, 0, 0)}),
        "domains": ("domains.html", {"table": table, "choice": TableChoice(ALL, ALL, ALL, descending=True, after=ALL)}),
        "change": ("change.html", change),
        "runs": ("runs.html", {"runs": (run, a_run()), "jobs": (job,), "older": [(ALL, "/")]}),
        "run": ("run.html", {"page": RunPage(run, ledger, "new", changes)}),
        "live run": ("run_live.html", {"run": run}),
        "ended run": ("run_live.html", {"run": a_run()}),
        "domain": ("domain.html", {"view": a_hostile_view()}),
        "template": ("template.html", {"view": template}),
        "decision": (
            "confirm.html",
            {"view": template, "trial": trial, "version": "", "action": "keep", "selector": ALL},
        ),
        "keep": ("keep.html", {"view": keep}),
        "page": ("page.html", {"view": replace(page, has_original=True), "refine": None}),
        "page without a diff": ("page.html", {"view": replace(page, diff="", no_diff=ALL), "refine": None}),
        "unknown page": ("unknown_page.html", {"url": ALL, "why": ALL}),
        "config": ("config.html", {"view": config}),
        "preview": ("preview.html", {"preview": preview}),
    }


@pytest.mark.parametrize("name", hostile_pages())
def test_hostile_text_is_text_and_bounded(name: str) -> None:
    template, values = hostile_pages()[name]

    html = drawn(template, nav=NAV, flash=Flash(ALL * 1000, "wrong", Action(ALL, "/undo", (("field", ALL),))), **values)

    checked(html)
    assert HOSTILE not in html
    assert "\u202e" not in without_values(html)
    assert len(html) < (12_000_000 if template == "page.html" else 2_500_000)


@given(st.text(), st.text(), st.text())
def test_any_text_leaves_the_page_whole(name: str, reason: str, pattern: str) -> None:
    row = DomainRow(name, "BLACKLISTED", 1, 2, 1, 0.5, blacklist_reason=reason)
    table = DomainTable((row,), 1, None, {"BLACKLISTED": 1})

    checked(drawn("domains.html", table=table, choice=TableChoice(pattern)))


@pytest.mark.parametrize(
    ("choice", "changed", "path"),
    [
        pytest.param(TableChoice(), {}, "/p/0c3d/domains", id="nothing-chosen"),
        pytest.param(TableChoice("a b", "BLACKLISTED"), {}, "/p/0c3d/domains?q=a+b&status=BLACKLISTED", id="filter"),
        pytest.param(
            TableChoice(after="x"),
            {"sort": "pages"},
            "/p/0c3d/domains?sort=pages&order=up",
            id="other-order-begins-at-the-top",
        ),
        pytest.param(
            TableChoice(sort="pages", descending=True),
            {"after": "x"},
            "/p/0c3d/domains?after=x&sort=pages&order=down",
            id="on",
        ),
    ],
)
def test_path_says_what_is_chosen(choice: TableChoice, changed: dict[str, str], path: str) -> None:
    assert NAV.path("domains", **choice.query(**changed)) == path


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
    found = checked(drawn("unknown_page.html", nav=NAV, url="x", why="y"))
    runs = checked(drawn("runs.html", nav=NAV, runs=(), jobs=(), older=[]))

    current = [[one["href"] for _, one in page.seen if "aria-current" in one] for page in (found, runs)]
    assert current == [[], ["/p/0c3d/runs"]]
