"""A shared queue whose server goes away and comes back."""

import asyncio
import time
from collections.abc import Iterator

import pytest
import redis
from msgspec import Struct
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from scrapy_dedup.plugin.workers.queue import LeasedQueue, LeasedWork
from tests.proxy import Proxy, proxy
from tests.redis_server import redis_server

__all__ = ["redis_server"]

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

    assert away.queue._crawler.stats.get_value("dedup/queue/errors") == 1


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
