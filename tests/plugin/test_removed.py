"""With a real crawler, store and signals; whole crawls are in tests/end_to_end/test_removed.py."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import maybe_deferred_to_future
from sqlalchemy import insert

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.plugin.domains import Sites
from scrapy_dedup.plugin.recrawl.removed import RemovedPages
from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.recrawl import PagesMet
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.tables.models import Forgotten
from scrapy_dedup.store.writer import ProjectStore
from tests.plugin.builders import a_crawler, a_response
from tests.store.builders import DOMAIN, NOON, a_document, a_key, a_snapshot, a_time

PAGES = 6


class Ending:
    """The end of a crawl that has found all pages but the first."""

    def __init__(self, project: ProjectStore, *, scheduler: Any = None, fetches: int = PAGES, **settings: Any) -> None:
        project.begin_run(spider="s", jobdir=None, started_at=NOON)
        project.write([a_document(number, content_hash=b"c" * 32) for number in range(PAGES)])
        run = project.begin_run(spider="s", jobdir=None, started_at=a_time(1))
        project.write([a_snapshot(number, at=a_time(2)) for number in range(1, PAGES)])
        self.project, self.counts = project, Counter[str]()
        self.crawler: Crawler = a_crawler()
        self.asked: list[Request] = []
        count = lambda what, n: self.counts.update({what: n})  # noqa: E731 - as Runtime.count
        chosen = Settings(**{"removed_after": 1, "emit_removed": True, **settings})
        sites = Sites(project, RepeatPolicy(), count)
        sites.of(DOMAIN).fetches = fetches
        plain = Scheduler.__new__(Scheduler)
        engine: Any = SimpleNamespace(_slot=SimpleNamespace(scheduler=scheduler or plain), crawl=self.asked.append)
        self.crawler.engine = engine
        crawl = Crawl(project, run, chosen, count)
        writer = WriteBehind(crawl)
        self.met = PagesMet()
        self.removed_pages = RemovedPages(self.crawler, crawl, sites, writer, self.met, frozenset())
        self.removed_pages.watch()

    def idle(self) -> bool:
        """Let the spider be idle; say whether it is to stay open."""

        async def work() -> bool:
            answers = self.crawler.signals.send_catch_log(signals.spider_idle, dont_log=DontCloseSpider)
            if self.removed_pages._looking is not None:
                await maybe_deferred_to_future(self.removed_pages._looking)
            return any("DontCloseSpider" in repr(answer) for _, answer in answers)

        return asyncio.run(work())

    def tombstones(self) -> list[dict[str, Any]]:
        (request,) = self.asked
        assert request.callback is not None
        return list(request.callback(a_response(request.url, request=request)))


def test_removal_of_forgotten_pages_is_told_by_their_keys_alone(project):
    with project.transaction(write=True) as connection:
        keys = (a_key("forgotten"), a_key("met"))
        connection.execute(insert(Forgotten), [{"project_id": project.id, "page_key": key} for key in keys])
    ending = Ending(project)
    ending.met[a_key("met")] = VerdictKind.UNCHANGED
    ending.idle()
    _, item = ending.tombstones()

    run = project.run
    told = {"project": "shop", "run": str(run.id), "verdict": "removed", "reason": "forgotten"}
    assert item == {"dedup": told | {"page_key": a_key("forgotten").hex()}}
    project.write(ending.removed_pages.records_of(item))
    assert project.forgotten() == [a_key("met")]


class Shared:
    """A queue that other crawlers fill, too."""


def test_nobody_knows_the_end_of_a_shared_queue(project, caplog):
    ending = Ending(project, scheduler=Shared())

    assert not ending.idle()
    assert not ending.idle()
    assert caplog.text.count("No tombstones") == 1


def test_nobody_knows_the_end_where_others_feed_the_spider(project, caplog):
    ending = Ending(project)

    def feed() -> None:
        """Of a user's own extension."""

    connect: Any = ending.crawler.signals.connect
    connect(feed, signals.spider_idle)

    assert not ending.idle()
    assert "something else listens to spider_idle" in caplog.text


def test_run_does_not_count_where_the_store_does_not_answer(project, caplog):
    ending = Ending(project, emit_removed=False)
    with project._database.transaction(write=True) as connection:
        connection.exec_driver_sql("ALTER TABLE documents RENAME TO elsewhere")
    ending.removed_pages.persist()

    assert ending.counts == {"store/errors": 1}
    assert "this run does not count for them" in caplog.text
