import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import redis
from msgspec import Struct
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.requests import LEASE, LENT_URL
from scrapy_dedup.plugin.workers.queue import LeasedQueue, LeasedRequests, LeasedWork
from scrapy_dedup.plugin.workers.server import LeasedServer, WantedRequest
from tests.proxy import Proxy, proxy
from tests.redis_server import redis_server
from tests.tables import table

__all__ = ["redis_server"]

LONG = timedelta(hours=1)
OVER = timedelta(seconds=-1)
"""The lease of a worker that is dead."""

Worker = Callable[..., LeasedServer]


@pytest.fixture
def client(redis_server) -> Iterator["redis.Redis"]:
    with redis_server.client() as client:
        yield client


@pytest.fixture
def worker(client) -> Worker:
    def named(name: str, lease: timedelta = LONG) -> LeasedServer:
        return LeasedServer(client, "shop:requests", name, lease)

    return named


def filled(queue: LeasedServer, *bodies: bytes) -> None:
    for body in bodies:
        queue.push(WantedRequest(body))


def popped(queue: LeasedServer) -> str:
    found = queue.pop()
    return found[0]


def emptied(queue: LeasedServer) -> list[bytes]:
    return [found[1] for found in iter(queue.pop, None)]


# Order and filter.


FIRST = WantedRequest(b"1", 0, "first", b"home", "parse", b"start|1")
WITH_COOKIE = WantedRequest(b"2", 0, "first", b"home", "parse", b"start|2")


@pytest.mark.parametrize("first", [FIRST, WITH_COOKIE], ids=["plain", "with-a-cookie"])
def test_workers_that_bring_the_same_first_request_queue_it_once(worker, first):
    assert [worker(name).push(first) for name in "abcdefgh"] == [True] + [False] * 7


@pytest.mark.parametrize(
    ("before", "then", "queued"),
    [
        pytest.param(FIRST, WantedRequest(b"3", 0, "link", b"home", "parse"), False, id="link-to-a-first-page"),
        pytest.param(
            FIRST, WantedRequest(b"3", 0, "link", b"home", "parse_item"), True, id="link-for-another-callback"
        ),
        pytest.param(WantedRequest(b"3", 0, "link", b"home", "parse"), FIRST, True, id="first-page-that-a-link-led-to"),
        pytest.param(
            WantedRequest(b"3", 0, "link", b"home", "parse_item"), FIRST, True, id="first-for-another-callback"
        ),
        pytest.param(FIRST, WITH_COOKIE, True, id="first-with-a-cookie"),
        pytest.param(FIRST, WantedRequest(b"1", 0, "first", b"home", "parse"), True, id="retry-of-a-first"),
    ],
)
def test_a_first_page_and_links_to_it_are_queued_once_for_each_callback(worker, before, then, *, queued):
    queue = worker("a")
    queue.push(before)

    assert queue.push(then) is queued


# Leases.


class Workers:
    """Does what a case of the table says; of those that are called dead or slow the lease is over."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.tokens = worker, dict[str, str]()

    def take(self, step: str) -> object:
        name, word, *bodies = step.split()
        queue = self.worker(name, OVER if name in ("dead", "slow") else LONG)
        given: Any = None
        match word:
            case "push":
                filled(queue, *(body.encode() for body in bodies))
            case "pop":
                for token, body in filter(None, [queue.pop()]):
                    given = body.decode()
                    self.tokens[given] = token
            case "empty":
                given = [body.decode() for body in emptied(queue)]
            case "done" | "hold" | "recover":
                given = getattr(queue, word)([self.tokens[body] for body in bodies])
            case "leave":
                given = list(queue.leave(finished=True))
            case "reclaim":
                given = list(queue.reclaim())
            case "renew":
                given = queue.renew()
            case _:
                given = getattr(queue.state(), word)
        return given


@table("plugin/leases")
def test_each_request_is_lent_until_it_is_done_or_its_worker_is_dead(worker, steps):
    """A step may say what it gives."""
    workers = Workers(worker)
    for step, *expected in steps:
        given = workers.take(step)
        assert not expected or [given] == expected, step


def test_old_tokens_do_not_end_requests_of_a_later_crawl(worker):
    """However fast they were given."""
    stale = worker("stale")
    filled(stale, *[b"old"] * 500)
    tokens = [popped(stale) for _ in range(500)]
    worker("other").clear()
    stale.done(tokens)
    stale.leave(finished=True)
    filled(worker("other"), *[b"new"] * 500)
    stale.done(tokens)

    assert emptied(worker("other")) == [b"new"] * 500


def test_what_was_in_the_same_hands_as_a_deadly_request_is_not_given_up(worker):
    living = worker("living")
    filled(living, *(str(number).encode() for number in range(16)))
    given_up: list[bytes] = []
    for death in range(40):
        victim, has = worker(f"victim-{death}", OVER), []
        while (found := victim.pop()) is not None:
            has.append(found)
            if death < 2:
                continue
            if found[1] == b"7":
                break
            victim.done([found[0]])
        given_up += living.reclaim()[1]
        if not has:
            break

    assert given_up == [b"7"]
    assert living.state().is_over


def test_of_eight_that_pop_at_once_each_request_has_one(redis_server, client):
    """And of those that die in between, others have what they had, once; after five it is given up."""
    total, lock = 400, threading.Lock()
    got: list[bytes] = []
    filled(LeasedServer(client, "shop:requests", "filler", LONG), *(str(number).encode() for number in range(total)))

    def work(number: int) -> None:
        with redis_server.client() as own:
            generations = itertools.count()
            while True:
                queue = LeasedServer(own, "shop:requests", f"{number}-{next(generations)}", OVER)
                taken = [found for found in (queue.pop() for _ in range(7)) if found]
                done = taken[:-1] if len(taken) > 1 else taken
                queue.done([token for token, _ in done])
                with lock:
                    got.extend(body for _, body in done)
                if not taken and not queue.reclaim()[0]:
                    return

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    given_up = client.lrange("{shop:requests}:given_up", 0, -1)
    assert {*got, *given_up} == {str(number).encode() for number in range(total)}


# Requests as others read them.


class Shop(Spider):
    name = "shop"

    def parse_item(self, response: Any) -> None:
        """Read nothing."""

    def give_up(self, failure: Any) -> None:
        """Do nothing."""


@pytest.fixture
def requests() -> LeasedRequests:
    return LeasedRequests(get_crawler(Shop)._create_spider())


def copied(requests: LeasedRequests, request: Request) -> Request:
    return requests.read(requests.wanted(request, filters=True).body)


def shop_of(requests: LeasedRequests) -> Shop:
    return requests._spider  # type: ignore[return-value]  # the fixture's


def test_a_request_comes_back_as_it_was(requests):
    spider = shop_of(requests)
    request = Request(
        "https://example.com/a?b=ü",
        callback=spider.parse_item,
        errback=spider.give_up,
        method="POST",
        headers={"X-A": ["1", b"\xff"]},
        body=b"\x00\xff",
        cookies=[{"name": "a", "value": "b"}],
        meta={"depth": 3, "seen": {1, 2}, "at": datetime(2026, 1, 1, tzinfo=UTC), "price": Decimal("1.10")},
        cb_kwargs={"day": date(2026, 1, 1), "pair": (1, b"2")},
        priority=-4,
        dont_filter=True,
        flags=["x"],
    )

    came = copied(requests, request)

    assert came.to_dict(spider=spider) == request.to_dict(spider=spider)


def test_a_new_request_does_not_carry_the_token_of_the_one_that_led_to_it(requests):
    led = Request("https://example.com/", meta={LEASE: "17", LENT_URL: "https://example.com/led", "depth": 1})

    assert copied(requests, led).meta == {"depth": 1}
    assert led.meta[LEASE] == "17"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"meta": {"socket": object()}}, "its meta cannot be shared with other workers", id="object"),
        pytest.param({"callback": lambda _: None}, "is not an instance method", id="function"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_name(requests, changes, said):
    with pytest.raises(ValueError, match=said):
        requests.wanted(Request("https://example.com/", **changes), filters=True)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"not json", id="not-json"),
        pytest.param(b"[]", id="no-dict"),
        pytest.param(b'{"url":"https://example.com/","callback":"gone"}', id="no-such-callback"),
        pytest.param(b'{"url":"https://example.com/","_class":"os.path"}', id="no-class-of-requests"),
        pytest.param(b'{"url":"https://example.com/","_class":"antigravity.X"}', id="a-module-that-is-not-there"),
        pytest.param(b'{"url":"no url"}', id="no-url"),
        pytest.param(b'{"url":{"$":"bytes","v":3}}', id="damaged-value"),
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_ours(requests, body):
    with pytest.raises(DedupError):
        requests.read(body)


URL = "https://shop.example/"


class Away(Struct, frozen=True):
    """A worker's queue, and the way to its server."""

    queue: LeasedQueue
    way: Proxy
    client: "redis.Redis"

    @property
    def work(self) -> LeasedWork:
        return self.queue._work

    def waiting(self) -> int:
        return int(self.client.zcard("{shop:requests}:queue"))


@pytest.fixture
def away(redis_server) -> Iterator[Away]:
    crawler = get_crawler(Spider, {"DEDUP_SHARED_LEASE": 3, "DEDUP_ENABLED": False})
    crawler.spider = Spider.from_crawler(crawler, name="shop")
    with (
        redis_server.client() as direct,
        proxy(redis_server.port) as way,
        redis.Redis(host="127.0.0.1", port=way.port, db=redis_server.database, socket_timeout=0.5) as client,
    ):
        yield Away(LeasedQueue(client, crawler.spider, "shop:requests"), way, direct)


def test_asking_again_and_again_does_not_put_off_the_next_try(away):
    away.queue.push(Request(URL))
    away.way.cut()
    assert len(away.queue) == 1
    away.way.mend()

    until = time.monotonic() + 10
    while away.queue.pop() is None and time.monotonic() < until:
        assert len(away.queue) >= 1
        time.sleep(0.1)

    assert time.monotonic() < until


def test_a_server_that_is_away_is_asked_once_a_second(away):
    away.way.cut()
    for _ in range(2):
        away.work.look()
        away.work.renew()
        len(away.queue)

    assert away.work._crawler.stats.get_value("dedup/queue/errors") == 1


def test_what_could_not_be_queued_is_queued_at_the_end(away):
    away.way.cut()
    away.queue.push(Request(URL))
    assert len(away.queue) == 2

    async def end() -> None:
        ending = asyncio.create_task(away.work.end())
        await asyncio.sleep(0.2)
        away.way.mend()
        assert await ending == 0

    asyncio.run(end())

    assert away.waiting() == 1


def test_a_page_is_not_done_before_what_it_led_to_is_queued(away):
    away.queue.push(Request(URL))
    assert away.queue.pop() is not None
    away.way.cut()
    away.queue.push(Request(URL + "next"))
    away.work.look()
    away.way.mend()

    assert away.client.zcard(f"{{shop:requests}}:flight:{away.queue._server._worker}") == 1
