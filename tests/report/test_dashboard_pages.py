"""The dashboard's pages: what they say, and that nothing foreign gets out of its place."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.boilerplate.verdict_model import VerdictChange
from scrapy_dedup.core.patterns import ConfigTrial, HeldBack, SiteConfig
from scrapy_dedup.report.values import ReportLocator
from scrapy_dedup.service.jobs import Job, JobState
from scrapy_dedup.service.patterns import PatternEffect
from scrapy_dedup.service.report.dashboard import FrontPage, RunPage, RunRow, Step
from scrapy_dedup.service.stored.template_upkeep import ShownTemplate, TemplateDiff, TemplateTrial
from scrapy_dedup.service.stored.template_upkeep import TrialEffect as PageEffect
from scrapy_dedup.service.views.changes import PageChange
from scrapy_dedup.service.views.undoing import KeptEntry, KeptKind, Undone
from scrapy_dedup.store.domains.lists import DomainChoice, DomainCounts, DomainList, DomainSums
from scrapy_dedup.store.records.stored import DomainFigures, RunFigures, StoredRun, StoredVisit
from scrapy_dedup.web.dashboard.config import ConfigView, Preview, PreviewBlock, Typed
from scrapy_dedup.web.dashboard.frame import Button, Flash, Nav
from scrapy_dedup.web.dashboard.page import PageView
from tests.report.builders import a_diff, an_alarm
from tests.report.dashboard import checked, drawn
from tests.report.dashboard_views import a_hostile_view, a_registered, a_template_view, a_version
from tests.report.hostile import ALL, HOSTILE, a_hostile_ledger, a_hostile_page, without_values

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAV = Nav("0c3d", ALL, (("0c3d", ALL), ("other", ALL * 1000)))
LONG = 10_000_000


def a_run(status: str = ALL, verdicts: Mapping[str, int] = MappingProxyType({}), **stats: float) -> RunRow:
    run = StoredRun(UUID(int=7), ALL, None, status, ALL, NOON, None, {ALL: 1.5, **stats})
    return RunRow.of(RunFigures(run, verdicts, 0, 0, 0, 0.0), NOON + timedelta(hours=1))


@cache
def hostile_pages() -> dict[str, tuple[str, dict[str, object]]]:
    """Return templates of all pages and pieces, with hostile text in every field that can hold text."""
    ledger = a_hostile_ledger()
    run = a_run("running", {ALL: 1, "new": 2}, x=2)
    visit = StoredVisit(b"\0" * 16, NOON, "get", "new", ALL, change_class=ALL)  # type: ignore[arg-type]
    changes = (PageChange(visit, ALL, ALL), PageChange(visit, None, None))
    row = a_registered("BLACKLISTED", domain_name=ALL, joined_to=ALL, twin=ALL, blacklist_reason=ALL, errors=1)
    long = replace(row, domain_name="d" * LONG, joined_to="j" * LONG, blacklist_reason="r" * LONG)
    table = DomainList((row, long), ALL, 2)
    counts = DomainCounts({ALL: 1, "DISCOVERED": 2}, 2, 1)
    choice = DomainChoice(ALL, ALL, ALL, descending=True, after=ALL)  # type: ignore[arg-type]
    job = Job(UUID(int=1), ALL, ALL, NOON, JobState.RUNNING, 3, 10, error="e" * LONG)
    failed = replace(job, state=JobState.FAILED)
    alarms = (an_alarm(ALL, domain=ALL),) * 99
    front = FrontPage(NOON, DomainSums(1, 1, 1, 9, 3), (DomainFigures(ALL, 1, 9, 3),), ledger, (run,), alarms=alarms)
    sent = {"names": ALL, "reason": ALL * 100, "until": ALL}
    change: dict[str, object] = {"verb": "blacklist", "steps": [Step(ALL, ALL)] * 2_000, "sent": sent, "wrong": ALL}
    decided = {"action": ALL, "selector": ALL, "at": ALL, "by": ALL}
    stored = a_version(domain=ALL, state=ALL, reason=ALL, kind=ALL, url_pattern="u" * LONG, overrides=(decided,))
    diff = TemplateDiff(
        stored,
        stored,
        {ALL: ("s" * LONG,) * 500},
        {ALL: (ALL,) * 500},
        (VerdictChange(ALL, ALL, ALL, ALL),) * 500,
        ((ALL, ALL),) * 500,
        (),
    )
    lines = (ReportLocator("s" * LONG, "e" * LONG), ReportLocator(ALL, ALL)) * 500
    template = a_template_view(
        layout=ALL,
        shown=ShownTemplate(stored, (), lines, lines, {ALL: (ALL,)}),
        versions=(a_version(state=ALL, reason="r" * LONG, source=ALL),) * 20,
        diff=diff,
        error=ALL,
        typed=("keep", f'">{HOSTILE}'),
    )
    trial = TemplateTrial(20, (PageEffect(ALL, (ALL,) * 50, ("t" * LONG,)),) * 50)
    undone = Undone(KeptEntry(KeptKind.RULE, ALL, ALL, ALL * 100), 1, None, ConfigTrial(2, 1, -5, ALL))
    keep = {"kept": undone.kept, "found": undone, "sample": "s" * LONG, "take_back": False, "back": "/", "page": ALL}
    page = PageView(a_hostile_page(), ALL, "0" * 32, diff=a_diff("-" + ALL, "+" + "e" * LONG), kept=frozenset({ALL}))
    removal = Removal(1, RemovalRule(ALL, ALL, path=ALL, layer=ALL))
    blocks = (
        PreviewBlock(ALL + "p" * LONG, None, removal),
        PreviewBlock(ALL, removal, None),
        PreviewBlock(ALL, removal, removal),
        PreviewBlock(ALL, None, None),
    )
    held = (HeldBack(ALL, ALL),) * 5_000  # type: ignore[arg-type]
    preview = Preview(ALL, blocks * 1_000, (PatternEffect(1, ALL, 1, 1, ALL),) * 5_000, held, "a" * LONG)
    typed = Typed(SiteConfig(), 1, {"keep_rules": f"</textarea>{HOSTILE}"}, {"keep_rules": ALL * 100}, ALL)
    config = ConfigView(ALL, typed, ALL, pages=((ALL, ALL),), preview=preview, conflict=ALL)
    return {
        "overview": ("overview.html", {"front": front}),
        "quick overview": ("overview.html", {"front": replace(front, is_quick=True)}),
        "empty overview": ("overview.html", {"front": FrontPage(NOON, DomainSums(0, 0, 0, 0, 0))}),
        "domains": ("domains.html", {"table": table, "counts": counts, "choice": choice, "at": NOON}),
        "change": ("change.html", change),
        "runs": ("runs.html", {"runs": (run, a_run()), "jobs": (job,), "older": [(ALL, "/")]}),
        "run": ("run.html", {"page": RunPage(run, ledger, "new", changes)}),
        "live run": ("run_live.html", {"run": run}),
        "ended run": ("run_live.html", {"run": a_run()}),
        "domain": ("domain.html", {"view": a_hostile_view(), "refine": failed}),
        "template": ("template.html", {"view": template}),
        "decision": (
            "confirm.html",
            {"view": template, "trial": trial, "version": "", "action": "keep", "selector": ALL},
        ),
        "keep": ("keep.html", keep),
        "page": ("page.html", {"view": replace(page, has_original=True), "refine": None}),
        "page without a diff": ("page.html", {"view": replace(page, diff="", no_diff=ALL), "refine": None}),
        "unknown page": ("unknown_page.html", {"url": ALL, "why": ALL}),
        "config": ("config.html", {"view": config}),
        "preview": ("preview.html", {"preview": preview}),
        "no preview": ("preview.html", {"preview": ALL}),
    }


@pytest.mark.parametrize("name", hostile_pages())
def test_hostile_text_is_text_and_bounded(name):
    template, values = hostile_pages()[name]

    html = drawn(template, nav=NAV, flash=Flash(ALL * 1000, "wrong", Button(ALL, "/undo", (("field", ALL),))), **values)

    checked(html)
    assert HOSTILE not in html
    assert "\u202e" not in without_values(html)
    assert len(html) < (12_000_000 if template == "page.html" else 2_500_000)


@given(st.text(), st.text(), st.text())
def test_any_text_leaves_the_page_whole(name, reason, pattern):
    row = a_registered("BLACKLISTED", domain_name=name, blacklist_reason=reason)
    counts = DomainCounts({"BLACKLISTED": 1}, 0, 0)

    checked(
        drawn("domains.html", table=DomainList((row,), None, 1), counts=counts, choice=DomainChoice(pattern), at=NOON)
    )
