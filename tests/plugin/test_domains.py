"""With real requests and a real store; whole crawls are in tests/end_to_end/test_domains.py."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scrapy import Request

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.domains import DomainStatus
from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES
from scrapy_dedup.plugin.domains import Confidences, DomainGuard, RefusedDomain, Site, Sites
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import change
from tests.store.builders import DOMAIN, a_document
from tests.tables import table

NOW = datetime.now(UTC)
BAD = "https://bad.example/"
POOR = "https://poor.example/"


class Guarded:
    """A crawl with one blacklisted domain and one of low quality."""

    def __init__(self, store: Store, **settings: Any) -> None:
        self.settings = Settings(**settings)
        project = store.project("shop")
        self.service = DomainService(project, self.settings)
        self.service.blacklist_domain("bad.example", NOW, by="alice", reason=None)
        poor = self.service.register_domain("poor.example", NOW)
        self.service.update_status(poor.domain_id, DomainStatus.PROCESSED_LOW_QUALITY, NOW)
        self.counts = Counter[str]()
        run = project.begin_run(spider="s", jobdir=None, started_at=NOW)
        self.crawl = Crawl(project, run, self.settings, lambda what, n: self.counts.update({what: int(n)}))
        self.guard = DomainGuard(self.crawl, DEFAULT_RULES)

    def sends(self, url: str, **fields: Any) -> bool:
        try:
            self.guard.check(Request(url, **fields))
        except RefusedDomain:
            return False
        return True


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def test_subdomains_are_refused_where_the_domain_is_the_registrable_one(store):
    service = DomainService(store.project("shop"), Settings())
    service.blacklist_domain("bad.org", NOW, by=None, reason=None)

    assert not Guarded(store, domain_scope="registrable").sends("https://sub.bad.org/")
    assert Guarded(store).sends("https://sub.bad.org/")


def test_a_page_counts_once_and_reasons_are_bounded(store):
    guarded = Guarded(store)
    for number in [*range(1_010), 1_009, 0]:
        guarded.sends(f"{BAD}{number}")
    asyncio.run(ended(guarded))

    assert guarded.counts["domain/dropped"] == 1_010
    assert len(guarded.crawl.rows) == 1_000


async def ended(guarded: Guarded) -> None:
    await guarded.guard.end()


def test_what_a_callback_yields_does_not_use_up_the_sample(store):
    guarded = Guarded(store, domain_policy="sample", domain_sample_pages=1)

    assert all(guarded.guard.passes(Request(f"{POOR}{number}")) for number in range(4))
    assert guarded.sends(f"{POOR}0")


def test_blacklist_that_ends_meanwhile_needs_no_reading(store):
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    service = DomainService(store.project("shop"), Settings())
    service.blacklist_domain("soon.example", NOW, by=None, reason=None, expires_at=soon)
    guarded = Guarded(store)

    while datetime.now(UTC) < soon:
        pass
    assert guarded.sends("https://soon.example/")


@dataclass
class Item:
    url: str
    confidence: Any = None


def read(item: Any, counts: Counter[str] | None = None, **settings: Any) -> float | None:
    counts = Counter() if counts is None else counts
    return Confidences(Settings(**settings), lambda what, n: counts.update({what: n})).of(item)


@pytest.mark.parametrize(
    ("said", "confidence"),
    [(0.7, 0.7), (1, 1.0), (0, 0.0), ("0.35", 0.35), (" 1.0 ", 1.0), (None, None), ("", None)],
    ids=repr,
)
@pytest.mark.parametrize(
    "make", [lambda said: {"confidence": said}, lambda said: Item("u", said)], ids=["dict", "class"]
)
def test_field_is_read_as_a_number(make, said, confidence):
    counts = Counter[str]()

    assert read(make(said), counts) == confidence
    assert not counts


@pytest.mark.parametrize(
    "said", [-0.1, 1.01, 50, "high", "nan", float("inf"), True, [0.5], {}, b"\xff", object], ids=repr
)
def test_nonsense_is_counted_and_passed_over(said):
    counts = Counter[str]()

    assert read({"confidence": said}, counts) is None
    assert counts == {"domain/confidence_errors": 1}


def test_it_is_warned_of_once(caplog):
    confidences = Confidences(Settings(), lambda _what, _n: None)
    with caplog.at_level(logging.WARNING):
        for said in ("high\x1b[2J" * 1000, "low"):
            confidences.of({"confidence": said})

    (record,) = caplog.records
    assert "The item field 'confidence' needs to give a number" in record.message
    assert len(record.message) < 400
    assert "\x1b" not in record.message


@pytest.mark.parametrize("item", [{"url": "u"}, Item, "no item", None, 5], ids=repr)
def test_item_without_the_field_says_nothing(item):
    assert read(item) is None


MENU = 7


def sites_of(project: ProjectStore, counts: Counter[str] | None = None) -> Sites:
    counts = Counter() if counts is None else counts
    return Sites(project, RepeatPolicy(), lambda what, n: counts.update({what: n}))


def recalled(sites: Sites, domain: str = DOMAIN, times: int = 1) -> list[Site]:
    async def work() -> list[Site]:
        return await asyncio.gather(*(sites.recalled(domain) for _ in range(times)))

    return asyncio.run(work())


def test_all_who_ask_at_once_get_the_same_site_with_its_knowledge(project):
    project.write([ValidatorRecord(DOMAIN, sent=9)])

    found = recalled(sites_of(project), times=5)

    assert len({id(site) for site in found}) == 1
    assert found[0].validators.sent == 9


@pytest.mark.parametrize("damage", ["DROP TABLE domain_validators", "UPDATE documents SET blocks = x'0102'"])
def test_site_that_cannot_be_recalled_is_found_out_anew(project, path, caplog, damage):
    project.write([a_document(1, content_hash=b"c" * 32, blocks=pack_fingerprints([MENU]))])
    change(path, damage)
    counts: Counter[str] = Counter()

    (site,) = recalled(sites_of(project, counts))

    assert site.loaded
    assert site.versions.repeats.boilerplate == frozenset()
    assert counts == {"store/errors": 1}
    assert f"What is known of {DOMAIN} cannot be read" in caplog.text


@table("plugin/complete_domains")
def test_domain_is_complete_where_there_was_nothing_else_to_see(
    project, fetches, failures, *, failed_sitemap, complete
):
    sites = sites_of(project)
    site = sites.of(DOMAIN)
    site.fetches, site.failures, site.failed_sitemap = fetches, failures, failed_sitemap

    assert sites.complete(0.1) == ([DOMAIN] if complete else [])
