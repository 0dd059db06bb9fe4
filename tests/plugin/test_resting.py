"""A crawl of more domains than it may hold lets some go, and meets them again by what the store knows."""

import asyncio
from collections import Counter

import pytest
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.plugin.runtime import Resting
from scrapy_dedup.plugin.waiting import Aside, ParkingLot
from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl.crawl import Crawl, load
from scrapy_dedup.service.learning import Learner, Sample
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import locked
from tests.store.builders import NOON, a_document

SETTINGS = Settings.read(ScrapySettings({"DEDUP_BATCH": {"held_pages": 20}}))


class Domains:
    """A crawl, and who lets its domains go."""

    def __init__(self, project: ProjectStore) -> None:
        self.counts: Counter[str] = Counter()
        run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
        self.crawl = Crawl(project, run, SETTINGS, self.count)
        self.aside = Aside(ScrapySettings())
        self.lot = ParkingLot(100, 10**9, SETTINGS.max_wait, lambda _learner, _why, _pages, go_on: go_on())
        self.writer = WriteBehind(self.crawl)
        self.resting = Resting(self.crawl, self.aside, self.lot, self.writer)

    def count(self, what: str, n: float = 1) -> None:
        self.counts[what] += int(n)

    def meet(self, name: str, pages: int) -> Learner:
        """Meet a domain, and so many of its pages, which have a block in common."""
        crawl, name = self.crawl, f"{name}.example"
        learner = crawl.learner(name, "html") or crawl.meet(name, "html", load(crawl.store, name))
        for number in range(pages):
            learner.count(b"%d" % number, {1: Sample("body>nav", "Menu"), number + 2: Sample("body>p", f"{number}")})
        return learner

    async def look(self) -> list[str]:
        """Look once; return whose domains are held then."""
        await self.resting.look()
        return self.held()

    def held(self) -> list[str]:
        return [domain.partition(".")[0] for domain, _ in self.crawl.learners]


@pytest.fixture
def domains(project) -> Domains:
    return Domains(project)


def test_domain_that_was_learned_is_known_when_it_is_met_again(domains):
    async def work() -> None:
        domains.meet("first", 12)
        second = domains.meet("second", 12)

        assert await domains.look() == ["first"], "of two with as many pages the last met goes"

        assert "second.example" not in domains.crawl.configs
        again = domains.meet("second", 0)
        assert again is not second
        assert again.known
        assert list(again.boilerplate.counts) == [1]
        assert domains.counts["domains/rested"] == 1

    asyncio.run(work())


def test_whoever_is_needed_stays(domains):
    async def work() -> None:
        for name in ("worked_on", "parked", "met", "free"):
            domains.meet(name, 12).known = True
        domains.lot.park(domains.meet("parked", 0), b"key", 1, 0.0)
        async with domains.aside.turn("worked_on.example"):
            looking = asyncio.create_task(domains.look())
            await asyncio.sleep(0)
            domains.meet("met", 0)
            await looking

        assert sorted(domains.held()) == ["met", "parked", "worked_on"]

    asyncio.run(work())


def test_small_domain_that_was_let_go_is_known_after_a_complete_run(domains):
    async def work() -> None:
        for name in "abcdefgh":
            domains.meet(name, 2)
        assert await domains.look() == ["a", "b", "c", "d", "e", "f"]
        domains.meet("h", 1)
        domains.crawl.finish_small()
        await domains.writer.end()

        assert "html" in load(domains.crawl.store, "g.example").boilerplate
        assert "html" not in load(domains.crawl.store, "h.example").boilerplate, "it is held again, and not finished"

    asyncio.run(work())


def test_nobody_goes_while_the_store_cannot_be_written(domains, path):
    async def work() -> None:
        for name in "ab":
            domains.meet(name, 12).known = True
        domains.crawl.rows.append(a_document())
        with locked(path):
            assert await domains.look() == ["a", "b"]
        await domains.writer.catch_up()
        assert await domains.look() == ["b"]

    asyncio.run(work())
