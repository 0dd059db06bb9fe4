"""With real requests and a real store; whole crawls are in tests/end_to_end/test_domains.py."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.urls.normal_form import DEFAULT_RULES, page_key
from scrapy_dedup.plugin.domains.guard import DEFAULT_BOUNDS, Bounds, DomainGuard, RefusedDomain
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


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        pytest.param("https://good.example/", True, id="other"),
        pytest.param(BAD, False, id="itself"),
        pytest.param("http://bad.example", False, id="http"),
        pytest.param("HTTPS://BAD.Example/x?y#z", False, id="upper-case"),
        pytest.param("https://bad.example.:443/", False, id="trailing-dot-and-port"),
        pytest.param("https://bad.example:8443/x", False, id="other-port"),
        pytest.param("https://user:word@bad.example/", False, id="user"),
        pytest.param("https://user:w%2Ford@bad.example/", False, id="slash-in-password"),
        pytest.param("https://bad.example?x", False, id="query-at-once"),
        pytest.param(BAD + "x" * 100_000, False, id="endless-path"),
        pytest.param("https://sub.bad.example/", True, id="subdomain"),
        pytest.param("https://bad.example.com/", True, id="longer"),
        pytest.param("https://good.example/https://bad.example/", True, id="in-the-path"),
        pytest.param("https://good.example/?u=https://bad.example/", True, id="in-the-query"),
        pytest.param("data:,https://bad.example/", True, id="data"),
    ],
)
def test_host_alone_decides(store: Store, url: str, *, is_sent: bool) -> None:
    guarded = Guarded(store)

    assert guarded.sends(url) is is_sent
    assert guarded.guard.passes(Request(url)) is is_sent


def test_subdomains_are_refused_where_the_domain_is_the_registrable_one(store: Store) -> None:
    service = DomainService(store, store.project("shop"), Settings())
    service.blacklist_domain("bad.org", NOW, by=None, reason=None)

    assert not Guarded(store, domain_scope="registrable").sends("https://sub.bad.org/")
    assert Guarded(store).sends("https://sub.bad.org/")


@pytest.mark.parametrize(
    "meta", [False, {"domain_enabled": False}, {"domain_policy": "crawl"}, {"enabled": False}], ids=str
)
def test_no_request_gets_past_a_blacklist(store: Store, meta: Any) -> None:
    guarded = Guarded(store, domain_policy="skip")

    assert not guarded.sends(BAD, meta={"dedup": meta})
    assert guarded.sends(POOR, meta={"dedup": meta})


@pytest.mark.parametrize(
    "fields",
    [{"callback": NO_CALLBACK}, {"method": "POST"}, {"dont_filter": True}],
    ids=["no-page", "post", "unfiltered"],
)
@pytest.mark.parametrize("url", [BAD, POOR])
def test_requests_of_any_kind_are_refused(store: Store, url: str, fields: dict[str, Any]) -> None:
    assert not Guarded(store, domain_policy="skip").sends(url, **fields)


def test_request_may_choose_its_policy(store: Store) -> None:
    guarded = Guarded(store)

    assert guarded.sends(POOR)
    # The list of those of low quality is read where the crawl has a use for it.
    guarded = Guarded(store, domain_policy="sample", domain_sample_pages=5)
    assert not guarded.sends(POOR, meta={"dedup": {"domain_policy": "skip"}})


def test_page_counts_once_wherever_it_is_linked(store: Store) -> None:
    guarded = Guarded(store)
    for _ in range(3):
        guarded.guard.passes(Request(BAD))
        guarded.sends(BAD)
        guarded.sends(f"{BAD}robots.txt", callback=NO_CALLBACK)

    assert guarded.counts == {"domain/dropped": 1, "domain/blacklisted": 1, "domain/no_pages": 3}
    assert guarded.guard.refused == {"bad.example"}


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


class TestSample:
    def test_what_a_callback_yields_does_not_use_it_up(self, store: Store) -> None:
        guarded = Guarded(store, domain_policy="sample", domain_sample_pages=1)

        assert all(guarded.guard.passes(Request(f"{POOR}{number}")) for number in range(4))
        assert guarded.sends(f"{POOR}0")

    @pytest.mark.parametrize(
        ("url", "fields", "is_sent"),
        [
            pytest.param(f"{POOR}1", {"meta": {"retry_times": 1}}, True, id="retry"),
            pytest.param(f"{POOR}to", {"meta": {"redirect_urls": [f"{POOR}1"]}}, True, id="redirect-within"),
            pytest.param(
                f"{POOR}to", {"meta": {"redirect_urls": ["https://a.example/"]}}, False, id="redirect-from-elsewhere"
            ),
            pytest.param(f"{POOR}2", {"meta": {"retry_times": 1}}, False, id="meta-of-another-page"),
            pytest.param(f"{POOR}robots.txt", {"callback": NO_CALLBACK}, True, id="no-page"),
            pytest.param(f"{POOR}2", {"meta": {"dedup": False}}, True, id="left-alone"),
        ],
    )
    def test_page_that_was_asked_for_goes_on(
        self, store: Store, url: str, fields: dict[str, Any], *, is_sent: bool
    ) -> None:
        guarded = Guarded(store, domain_policy="sample", domain_sample_pages=1)
        guarded.sends(f"{POOR}1")

        assert guarded.sends(url, **fields) is is_sent


class TestReadingAgain:
    def test_new_blacklist_holds_from_then_on(self, store: Store) -> None:
        guarded = Guarded(store)
        before = guarded.sends("https://later.example/")
        guarded.service.blacklist_domain("later.example", NOW, by=None, reason=None)
        guarded.service.unblacklist_domain("bad.example", NOW)

        asyncio.run(read_again(guarded))

        assert before
        assert not guarded.sends("https://later.example/")
        assert guarded.sends(BAD)

    def test_blacklist_that_ends_meanwhile_needs_no_reading(self, store: Store) -> None:
        soon = datetime.now(UTC) + timedelta(milliseconds=50)
        service = DomainService(store, store.project("shop"), Settings())
        service.blacklist_domain("soon.example", NOW, by=None, reason=None, expires_at=soon)
        guarded = Guarded(store)

        while datetime.now(UTC) < soon:
            pass
        assert guarded.sends("https://soon.example/")

    def test_store_that_fails_leaves_the_list_as_it_was(self, store: Store) -> None:
        guarded = Guarded(store)
        store.close()
        with Store.open("sqlite://"):
            asyncio.run(read_again(guarded))

        assert not guarded.sends(BAD)


async def read_again(guarded: Guarded) -> None:
    guarded.guard.look_again()
    guarded.guard.look_again()
    await guarded.guard.end()
