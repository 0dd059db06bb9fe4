"""With real requests and a real store; whole crawls are in tests/end_to_end/test_domains.py."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scrapy import Request

from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES, page_key
from scrapy_dedup.plugin.domains import DEFAULT_BOUNDS, Bounds, DomainGuard, RefusedDomain
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.domains.registry import DomainService, DomainStatus
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.store import Store

NOW = datetime.now(UTC)
BAD = "https://bad.example/"
POOR = "https://poor.example/"


class Guarded:
    """A crawl with one blacklisted domain and one of low quality."""

    def __init__(self, store: Store, bounds: Bounds = DEFAULT_BOUNDS, **settings: Any) -> None:
        self.settings = Settings(**settings)
        project = store.project("shop")
        self.service = DomainService(store, project, self.settings)
        self.service.blacklist_domain("bad.example", NOW, by="alice", reason=None)
        poor = self.service.register_domain("poor.example", NOW)
        self.service.update_status(poor.domain_id, DomainStatus.PROCESSED_LOW_QUALITY, NOW)
        self.counts = Counter[str]()
        run = project.begin_run(spider="s", jobdir=None, started_at=NOW)
        self.crawl = Crawl(project, run, self.settings, lambda _what, _n: None)
        count = lambda what, n: self.counts.update({what: n})  # noqa: E731 - as Runtime.count
        self.guard = DomainGuard(self.crawl, self.settings, DEFAULT_RULES, count, bounds)

    def sends(self, url: str, **fields: Any) -> bool:
        """Say whether a request is sent."""
        try:
            self.guard.check(Request(url, **fields))
        except RefusedDomain:
            return False
        return True


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def test_subdomains_are_refused_where_the_domain_is_the_registrable_one(store: Store) -> None:
    service = DomainService(store, store.project("shop"), Settings())
    service.blacklist_domain("bad.org", NOW, by=None, reason=None)

    assert not Guarded(store, domain_scope="registrable").sends("https://sub.bad.org/")
    assert Guarded(store).sends("https://sub.bad.org/")


def test_what_is_remembered_is_bounded(store: Store) -> None:
    guarded = Guarded(store, Bounds(pages=10, decisions=20))
    for number in [*range(50), 49, 0]:
        guarded.sends(f"{BAD}{number}")
    asyncio.run(ended(guarded))

    assert guarded.counts["domain/dropped"] == 51
    assert len(guarded.crawl.rows) == 20


async def ended(guarded: Guarded) -> None:
    await guarded.guard.end()


def test_reasons_are_written_once(store: Store) -> None:
    guarded = Guarded(store)
    guarded.sends(f"{BAD}x")
    asyncio.run(ended(guarded))
    asyncio.run(ended(guarded))

    (record,) = guarded.crawl.rows
    assert isinstance(record, DecisionRecord)
    assert (record.page_key, record.layer, record.action) == (page_key(f"{BAD}x"), "domain", "dropped")
    assert "by alice" in record.reason


def test_what_a_callback_yields_does_not_use_up_the_sample(store: Store) -> None:
    guarded = Guarded(store, domain_policy="sample", domain_sample_pages=1)

    assert all(guarded.guard.passes(Request(f"{POOR}{number}")) for number in range(4))
    assert guarded.sends(f"{POOR}0")


def test_blacklist_that_ends_meanwhile_needs_no_reading(store: Store) -> None:
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    service = DomainService(store, store.project("shop"), Settings())
    service.blacklist_domain("soon.example", NOW, by=None, reason=None, expires_at=soon)
    guarded = Guarded(store)

    while datetime.now(UTC) < soon:
        pass
    assert guarded.sends("https://soon.example/")
