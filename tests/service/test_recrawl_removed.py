from collections.abc import Container
from datetime import datetime
from typing import Any

import pytest

from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.service.recrawl import Departed, PagesMet, find_departed, removal_records
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.stored import Run
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_snapshot, a_time
from tests.tables import table

PAGES = 10


@pytest.fixture
def project(project) -> ProjectStore:
    begin(project, NOON)
    project.write([a_document(number, content_hash=b"c" * 32) for number in range(PAGES)])
    return project


def begin(project: ProjectStore, at: datetime) -> Run:
    return project.begin_run(spider="s", jobdir=None, started_at=at)


class Crawls:
    """Complete crawls of one domain, in which some pages are found."""

    def __init__(self, project: ProjectStore, **settings: Any) -> None:
        self.project = project
        self.settings = Settings(**settings)
        self.hours = 0

    def find(
        self, numbers: Container[int], domains: tuple[str, ...] = (DOMAIN,), met: PagesMet | None = None
    ) -> Departed:
        """Return what is missing at the end of a crawl; it is written down as a crawl does."""
        self.hours += 1
        run = begin(self.project, a_time(self.hours - 0.5))
        at = a_time(self.hours)
        self.project.write([a_snapshot(number, at=at) for number in range(PAGES) if number in numbers])
        departed = find_departed(self.project, run.id, domains, PagesMet() if met is None else met, self.settings)
        self.project.count_missed(run.id, departed.missed)
        self.project.write(removal_records(departed.removed, at))
        return departed


def numbers_of(pages: Any) -> list[str]:
    return [page.url.rpartition("/")[2] for page in pages]


def test_page_that_was_received_is_not_missing_though_the_store_does_not_know_yet(project):
    met = PagesMet()
    met[a_key(0)] = VerdictKind.UNCHANGED

    assert Crawls(project).find(range(1, PAGES), met=met) == Departed()


@pytest.mark.parametrize(
    ("was_read", "redirects", "removed"), [(True, False, ["0"]), (False, False, []), (False, True, [])]
)
def test_page_is_missed_only_where_the_page_that_led_to_it_was_read(project, removed, *, was_read, redirects):
    """What it answers is known before the store is."""
    led = a_document(0, content_hash=b"c" * 32, parent_key=a_key("list"))
    project.write([led, a_document("list", content_hash=b"c" * 32)])
    met = PagesMet()
    if redirects:
        met.redirected.put(a_key("list"), 0)
    else:
        met[a_key("list")] = VerdictKind.UNCHANGED
    if was_read:
        met.note_read(a_key("list"))
    crawls = Crawls(project, removed_after=1)

    found = numbers_of(crawls.find(range(1, PAGES), met=met).removed)

    assert found == removed + ["list"] * redirects


def test_pages_met_keep_what_they_were_and_that_they_were_read():
    met = PagesMet()
    for number, kind in enumerate(VerdictKind):
        met[a_key(number)] = kind
        assert not met.was_read(a_key(number))
        met.note_read(a_key(number))
        met[a_key(number)] = kind
        assert (met.kind_of(a_key(number)), met.was_read(a_key(number))) == (kind, True)

    met.note_read(a_key("never met"))
    assert not met.was_read(a_key("never met"))
    assert a_key("never met") not in met


@table("service/share_of_a_domain_is_bounded")
def test_share_of_a_domain_is_bounded(project, missing, share, removed):
    departed = Crawls(project, removed_after=1, removed_max_share=share).find(range(missing, PAGES))

    assert len(departed.removed) == removed
    assert departed.too_many == (() if removed else ((DOMAIN, missing, PAGES),))
    assert len(departed.missed) == missing


def test_domains_are_judged_each_for_itself(project):
    project.write([a_document(f"x{number}", domain="other.example", content_hash=b"c" * 32) for number in range(10)])

    departed = Crawls(project, removed_after=1).find(range(1, PAGES), domains=(DOMAIN, "other.example"))

    assert numbers_of(departed.removed) == ["0"]
    assert departed.too_many == (("other.example", 10, 10),)
