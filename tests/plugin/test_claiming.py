"""Workers ask for their claims at once, wait for a store that is away, and lose nothing by it."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from scrapy_dedup.plugin.claimed_requests import ClaimedRequests, TakenByOther
from scrapy_dedup.plugin.claiming import Claims
from scrapy_dedup.plugin.marks import mark_start
from scrapy_dedup.service.claims import lost_of
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.service.policies import crawl_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.claim_records import ClaimKey, ClaimRecord, Kind, LeftPage, Wanted
from scrapy_dedup.store.store import Store
from tests.plugin.builders import PAGE, a_crawler, a_request
from tests.store.builders import a_key

SETTINGS = replace(Settings(), shared_job="job", shared_lease=timedelta(seconds=2))
START = {"is_start_request": True}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{path}", timeout=timedelta(milliseconds=50)) as opened:
        yield opened


class Worker:
    """One of several, and what it counted."""

    def __init__(self, store: Store, *, strict: bool = True) -> None:
        project = store.project("shop")
        run = project.begin_run(
            spider="s", jobdir=None, started_at=datetime.now(UTC), job="job", lease=timedelta(minutes=1)
        )
        self.counts: Counter[str] = Counter()
        settings = replace(SETTINGS, strict_shared=strict)
        self.crawl = Crawl(project, run, settings, self.count)
        assert project.claimant is not None
        self.claims = Claims(self.crawl, project.claimant, self.count)
        self.spider = a_crawler(Pages)
        self.requests = ClaimedRequests(self.spider, self.claims, settings, crawl_rules(settings))

    def count(self, what: str, n: float) -> None:
        self.counts[what] += n  # type: ignore[assignment]  # seconds are counted, too

    def write(self) -> None:
        rows, self.crawl.rows = self.crawl.rows, []
        self.crawl.store.write(rows)

    async def lost(self, *names: object) -> list[bool]:
        """Ask for pages; return which of them another worker has."""
        found = await self.claims.ask([Wanted(Kind.PAGE, a_key(name), a_key(name)) for name in names])
        return [one in {key.key for key in lost_of(found)} for one in map(a_key, names)]

    async def asks_for(self, request: Request) -> bool:
        try:
            await self.requests.before(request)
        except TakenByOther:
            return False
        return True


class Pages(Spider):
    name = "pages"

    def parse(self, response: Response) -> None: ...

    def parse_item(self, response: Response) -> None: ...


async def ticking(claims: Claims, work: Awaitable[object]) -> None:
    """Let time pass, as the crawl's loop does, until something is done."""
    task = asyncio.ensure_future(work)
    while not task.done():
        claims.tick()
        await asyncio.sleep(0.02)
    await task


@contextmanager
def locked(path: Path) -> Iterator[Callable[[], object]]:
    """Keep every other writer away; give what lets them in again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield lambda: connection.execute("ROLLBACK")
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")


def test_of_two_workers_each_page_is_one_s_however_many_ask_at_once(store: Store) -> None:
    async def work() -> list[list[bool]]:
        first, second = Worker(store), Worker(store)
        asked = [worker.lost(number, number + 1) for number in range(0, 40, 2) for worker in (first, second)]
        found = await asyncio.gather(*asked)
        assert first.counts["claims/asked"] == second.counts["claims/asked"] == 40
        assert first.counts["claims/lost"] + second.counts["claims/lost"] == 40
        return found

    found = asyncio.run(work())

    firsts, seconds = (list(chain.from_iterable(found[start::2])) for start in (0, 1))
    assert [not lost for lost in firsts] == seconds


def test_whoever_asks_while_others_wait_is_answered_with_the_next_statement(store: Store) -> None:
    async def work() -> Counter[str]:
        worker = Worker(store)
        await asyncio.gather(*(worker.lost(number) for number in range(30)))
        return worker.counts

    assert asyncio.run(work())["claims/statements"] in (1, 2)


def test_strict_worker_waits_for_a_store_that_is_away(store: Store, path: Path) -> None:
    async def work() -> None:
        worker = Worker(store)
        with locked(path) as unlock:
            asked = asyncio.ensure_future(worker.lost(1))
            while not worker.counts["store/errors"]:  # noqa: ASYNC110 (a count has no event)
                await asyncio.sleep(0.01)
            assert not asked.done()
            unlock()
            await ticking(worker.claims, asked)
        assert asked.result() == [False]
        assert worker.counts["claims/given_up"] == 0
        assert await Worker(store).lost(1) == [True]

    asyncio.run(work())


def test_who_waited_for_a_whole_lease_goes_on_as_if_nobody_else_had_it(store: Store, path: Path) -> None:
    """Whatever happens to the store, the item goes out."""

    async def work() -> None:
        worker = Worker(store)
        with locked(path):
            asked = asyncio.ensure_future(worker.lost(1, 2))
            await ticking(worker.claims, asked)
        assert asked.result() == [False, False]
        assert worker.counts["claims/given_up"] == 2

    asyncio.run(work())


def test_worker_that_is_not_strict_knows_what_others_have_written(store: Store) -> None:
    async def work() -> None:
        first, second = Worker(store, strict=False), Worker(store, strict=False)

        assert await first.lost(1) == await second.lost(1) == [False]
        first.write()
        second.write()
        assert await first.lost(1) == [False]
        assert await second.lost(1) == [True]

    asyncio.run(work())


class TestRequests:
    def test_for_one_page_are_sent_by_one_worker_and_repeated_by_it(self, store: Store) -> None:
        async def work() -> None:
            first, second = Worker(store), Worker(store)
            retried = a_request(dont_filter=True, meta={"retry_times": 1})

            assert await first.asks_for(a_request())
            assert not await second.asks_for(a_request(f"{PAGE}?utm_source=x"))
            assert not await second.asks_for(a_request(dont_filter=True, meta=START))
            assert await first.asks_for(retried)

        asyncio.run(work())

    @pytest.mark.parametrize(
        "request_",
        [
            pytest.param(a_request(dont_filter=True), id="wanted-in-any-case"),
            pytest.param(a_request(method="POST"), id="post"),
            pytest.param(a_request(meta={"dedup": False}), id="left-alone"),
            pytest.param(a_request(meta={"dedup": {"url_enabled": False}}), id="layer-off"),
        ],
    )
    def test_that_the_url_layer_leaves_alone_are_sent_by_all(self, store: Store, request_: Request) -> None:
        async def work() -> None:
            workers = [Worker(store) for _ in range(2)]
            assert [await worker.asks_for(request_) for worker in workers] == [True, True]
            assert [worker.counts["claims/asked"] for worker in workers] == [0, 0]

        asyncio.run(work())

    def test_that_all_workers_begin_with_are_told_apart_by_what_they_carry(self, store: Store) -> None:
        async def work() -> None:
            first, second = Worker(store), Worker(store)

            def start(language: str) -> Request:
                request = a_request(dont_filter=True, cookies={"language": language})
                mark_start(request)
                request.meta.update(START)
                return request

            assert await first.asks_for(start("en"))
            assert not await second.asks_for(start("en"))
            assert await second.asks_for(start("de"))

        asyncio.run(work())

    def test_of_a_dead_worker_are_made_again_under_their_own_claim(self, store: Store) -> None:
        worker = Worker(store)
        spider = worker.spider.spider
        assert isinstance(spider, Pages)
        request = a_request(callback=spider.parse_item, cb_kwargs={"n": 1}, meta={"depth": 2})
        worker.requests.note(request)
        [noted] = worker.crawl.rows
        assert isinstance(noted, ClaimRecord)

        again = worker.requests.again(LeftPage(ClaimKey(noted.kind, noted.key), noted.owner, noted.request))

        assert again is not None
        assert (again.url, again.callback, again.cb_kwargs) == (PAGE, spider.parse_item, {"n": 1})
        assert again.dont_filter
        assert worker.requests._wanted(again).key == noted.key

    @pytest.mark.parametrize("kept", [None, b"", b"damaged", b"{}"])
    def test_that_cannot_be_made_again_are_given_up(self, store: Store, kept: bytes | None) -> None:
        worker = Worker(store)

        assert worker.requests.again(LeftPage(Wanted(Kind.PAGE, a_key(1), a_key(1)).claim_key, a_key(1), kept)) is None
