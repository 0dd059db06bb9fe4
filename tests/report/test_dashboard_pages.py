"""The dashboard's pages: what they say, and that nothing foreign gets out of its place."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Removal
from scrapy_dedup.core.boilerplate.verdict_model import VerdictChange
from scrapy_dedup.core.patterns import HeldBack, SiteConfig
from scrapy_dedup.report.values import Alarm, ReportLocator
from scrapy_dedup.service.jobs import Job, JobState
from scrapy_dedup.service.patterns import PatternEffect
from scrapy_dedup.service.report.dashboard import FrontPage, RunPage, RunRow, Step
from scrapy_dedup.service.stored.template_upkeep import ShownTemplate, TemplateDiff, TemplateTrial, TrialEffect
from scrapy_dedup.service.views.changes import PageChange
from scrapy_dedup.service.views.page_lists import PageList
from scrapy_dedup.service.views.undoing import KeptEntry, Undone
from scrapy_dedup.store.domains.layouts import PictureFacts
from scrapy_dedup.store.domains.lists import DomainChoice, DomainCounts, DomainList, DomainSums
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.pages.reads import ListedPage
from scrapy_dedup.store.records.stored import RepeatedBlock, RunFigures, StoredAlarm, StoredRun, StoredTemplate
from scrapy_dedup.web.dashboard.config import ConfigView, Preview, PreviewBlock, Typed
from scrapy_dedup.web.dashboard.domains import DomainView, LayoutView
from scrapy_dedup.web.dashboard.frame import Button, Flash, Nav
from scrapy_dedup.web.dashboard.page import PageView
from scrapy_dedup.web.dashboard.templates import TemplateView
from tests.report.builders import a_diff
from tests.report.dashboard import checked, drawn
from tests.report.hostile import ALL, HOSTILE, TEXTS, a_hostile_ledger, a_hostile_page, hostile, many, without_values
from tests.report.pictures import boxes

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAV = Nav("0c3d", ALL, (("0c3d", ALL), ("other", ALL * 1000)))


def a_run(status: str = ALL, verdicts: Mapping[str, int] = MappingProxyType({}), **stats: float) -> RunRow:
    run = StoredRun(UUID(int=7), ALL, None, status, ALL, NOON, None, {ALL: 1.5, **stats})
    return RunRow.of(RunFigures(run, verdicts, 0, 0, 0, 0.0), NOON + timedelta(hours=1))


def a_blacklisted(*texts: str, **other: Any) -> StoredDomain:
    known = {"status": "BLACKLISTED", "status_before": "DISCOVERED", "blacklist_expires_at": None}
    return hostile(StoredDomain, *texts, **known, **other)


def a_hostile_view() -> DomainView:
    boxed = replace(hostile(PictureFacts), boxes=to_builtins(boxes()))
    return hostile(
        DomainView,
        registered=a_blacklisted(),
        layouts=tuple(replace(one, picture=boxed) for one in many(LayoutView, 24)),
        blocks=many(RepeatedBlock, 40, fingerprint=ALL),
        alarms=tuple((ALL, one) for one in many(StoredAlarm, 1_000)),
        kept=(hostile(KeptEntry, ALL),) * 5_000,
        pages=PageList(many(ListedPage, 25), "c", None),
    )


@cache
def hostile_pages() -> dict[str, tuple[str, dict[str, object]]]:
    """Return templates of all pages and pieces, with hostile text in every field that can hold text."""
    ledger = a_hostile_ledger()
    run = a_run("running", {ALL: 1, "new": 2}, x=2)
    changes = many(PageChange, 0)
    table = DomainList(tuple(a_blacklisted(text) for text in TEXTS), ALL, 2)
    counts = DomainCounts({ALL: 1, "DISCOVERED": 2}, 2, 1)
    job = hostile(Job, state=JobState.RUNNING, error=TEXTS[-1])
    failed = replace(job, state=JobState.FAILED)
    front = hostile(FrontPage, ledger=ledger, steps=(run,), alarms=many(Alarm, 99))
    sent = {"names": ALL, "reason": ALL * 100, "until": ALL}
    change: dict[str, object] = {"verb": "blacklist", "steps": many(Step, 2_000), "sent": sent, "wrong": ALL}
    decided = {"action": ALL, "selector": ALL, "at": ALL, "by": ALL}
    stored = hostile(StoredTemplate, ALL, overrides=(decided,))
    lines = many(ReportLocator, 1_000)
    diff = hostile(TemplateDiff, before=stored, after=stored, verdicts=many(VerdictChange, 500))
    shown = hostile(ShownTemplate, stored=stored, content=lines, exclude=lines)
    typed = ("keep", f'">{HOSTILE}')
    template = hostile(TemplateView, shown=shown, versions=many(StoredTemplate, 20), diff=diff, typed=typed)
    trial = hostile(TemplateTrial, effects=many(TrialEffect, 50))
    undone = hostile(Undone)
    keep = {"kept": undone.kept, "found": undone, "sample": TEXTS[-1], "take_back": False, "back": "/", "page": ALL}
    page = hostile(PageView, explained=a_hostile_page(), diff=a_diff("-" + ALL, "+" + TEXTS[-1]), has_original=False)
    removal = hostile(Removal)
    reasons = ((None, removal), (removal, None), (removal, removal), (None, None))
    blocks = tuple(PreviewBlock(text, was, would) for text in TEXTS for was, would in reasons) * 200
    preview = hostile(Preview, blocks=blocks, effects=many(PatternEffect, 5_000), held=many(HeldBack, 5_000))
    sent_form = Typed(SiteConfig(), 1, {"keep_rules": f"</textarea>{HOSTILE}"}, {"keep_rules": ALL * 100}, ALL)
    config = hostile(ConfigView, typed=sent_form, pages=((ALL, ALL),), preview=preview, trial=None)
    return {
        "overview": ("overview.html", {"front": front}),
        "quick overview": ("overview.html", {"front": replace(front, is_quick=True)}),
        "empty overview": ("overview.html", {"front": FrontPage(NOON, DomainSums(0, 0, 0, 0, 0))}),
        "domains": ("domains.html", {"table": table, "counts": counts, "choice": hostile(DomainChoice), "at": NOON}),
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
    row = a_blacklisted("tea", domain_name=name, blacklist_reason=reason)
    counts = DomainCounts({"BLACKLISTED": 1}, 0, 0)

    checked(
        drawn("domains.html", table=DomainList((row,), None, 1), counts=counts, choice=DomainChoice(pattern), at=NOON)
    )
