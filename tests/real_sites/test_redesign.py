"""Two real generators' pages under one domain: in the middle of a crawl the site has another design."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from benchmarks.words import Score, mean, score, words
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.crawl.crawl import Crawl, load
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.cut.site_cleaning import How
from scrapy_dedup.service.learning.learning import Learner
from scrapy_dedup.service.steps import at_once
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.core.builders import parsed
from tests.end_to_end.conftest import project as crawl_project
from tests.end_to_end.crawling import Project
from tests.end_to_end.recrawl_site import rows
from tests.real_sites.conftest import Pages
from tests.real_sites.fetching import RealSite
from tests.server import Answer, serving

__all__ = ["crawl_project"]

DOMAIN = "site.example"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(output="text")
BEFORE, AFTER = 60, 20
NOTICED_WITHIN = 10
RECALL = 0.97

PagesOf = Callable[[str], tuple[RealSite, Pages]]


@dataclass
class Crawling:
    """A crawl of one domain as the plugin drives it: the first pages wait for each other."""

    project: ProjectStore
    stats: Counter[str] = field(default_factory=Counter)
    waiting: list[Draft] = field(default_factory=list)
    alarm_at: int | None = None
    """So many pages had been cut when the alarm was raised."""
    cut: list[Draft] = field(default_factory=list)

    def __post_init__(self) -> None:
        run = self.project.begin_run(spider="site", jobdir=None, started_at=NOON)
        self.crawl = Crawl(self.project, run, SETTINGS, self._count)
        self.learner: Learner = self.crawl.meet(DOMAIN, "template", load(self.project, DOMAIN))

    def _count(self, what: str, n: float) -> None:
        self.stats[what] += int(n)

    def take(self, pages: Sequence[tuple[str, str]]) -> list[Draft]:
        """Take in some pages and return them as they go out."""
        out = []
        for address, html in pages:
            url = f"https://{DOMAIN}{urlsplit(address).path}"
            at = NOON + timedelta(seconds=len(self.cut) + len(self.waiting))
            draft = Draft(url, page_key(url), DOMAIN, html, at, page=parsed(html))
            at_once(self.crawl.take_in(draft, self.learner))
            self.waiting.append(draft)
            if not self.learner.known and len(self.waiting) >= SETTINGS.batch_pages:
                at_once(self.crawl.learn(self.learner))
            if self.learner.known:
                out += list(self._let_go())
        return out

    def _let_go(self) -> Iterator[Draft]:
        for draft in self.waiting:
            at_once(self.crawl.clean(draft, self.learner, SETTINGS))
            self.cut.append(draft)
            if self.alarm_at is None and self.stats["drift/alarms"]:
                self.alarm_at = len(self.cut)
            yield draft
        self.waiting.clear()

    def finish(self) -> None:
        at_once(self.crawl.finish(self.learner, complete=True))
        self.project.write(self.crawl.rows)


@pytest.fixture
def crawling() -> Iterator[Crawling]:
    with Store.open("sqlite://") as store:
        yield Crawling(store.project("shop"))


def scored(site: RealSite, html: str, text: str) -> Score:
    truth = site.truth(html)
    assert truth is not None
    return score(words(text), truth.true, truth.lenient)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("git", "tomcat", id="asciidoc-to-tomcat"),
        pytest.param("sqlalchemy", "tomcat", id="sphinx-to-tomcat"),
    ],
)
def test_a_redesign_is_noticed_and_costs_no_content(old: str, new: str, pages_of: PagesOf, crawling: Crawling) -> None:
    site, pages = pages_of(new)

    crawling.take(pages_of(old)[1][:BEFORE])
    assert crawling.stats["drift/alarms"] == 0
    out = crawling.take(pages[:AFTER])
    crawling.finish()

    assert crawling.alarm_at is not None
    assert crawling.alarm_at - BEFORE <= NOTICED_WITHIN
    assert crawling.stats["drift/alarms"] == 1
    (alarm,) = crawling.project.alarms(DOMAIN)
    assert alarm.pages_failed >= alarm.pages_looked / 2
    assert alarm.cleared_at is not None
    after = out[crawling.alarm_at - BEFORE :]
    scores = {one.url: scored(site, one.source, one.cleaned.content) for one in after if one.cleaned}
    assert {url: one.recall for url, one in scores.items() if one.recall < RECALL} == {}
    assert mean(list(scores.values())).f1 >= RECALL
    assert Counter(one.cut.how for one in after if one.cut)[How.TEMPLATE] >= len(after) / 2


def test_the_next_crawl_knows_the_new_design(pages_of: PagesOf, crawling: Crawling) -> None:
    site, pages = pages_of("tomcat")
    crawling.take(pages_of("git")[1][:BEFORE])
    crawling.take(pages[:AFTER])
    crawling.finish()

    again = Crawling(crawling.project)
    out = again.take(pages[AFTER : 2 * AFTER])

    assert again.stats["drift/alarms"] == 0
    assert Counter(one.cut.how for one in out if one.cut)[How.TEMPLATE] >= AFTER * 0.9
    assert mean([scored(site, one.source, one.cleaned.content) for one in out if one.cleaned]).f1 >= RECALL


@pytest.mark.crawl
def test_a_crawl_notices_a_redesign(pages_of: PagesOf, crawl_project: Project) -> None:
    site, pages = pages_of("tomcat")
    old = pages_of("git")[1][:BEFORE]
    mixed = [(f"/old{urlsplit(url).path}", html) for url, html in old]
    mixed += [(f"/new{urlsplit(url).path}", html) for url, html in pages[:AFTER]]

    with serving(1, lambda origins: {origins[0] + path: Answer(html) for path, html in mixed}) as server:
        origin = server.origins[0]
        start = " ".join(origin + path for path, _ in mixed)
        crawled = crawl_project.crawl(
            "in-order",
            "-a",
            f"start={start}",
            DEDUP_OUTPUT="text",
            CONCURRENT_REQUESTS=1,
            DEDUP_CANONICAL_ENABLED=False,
        )

    assert crawled.count("drift/alarms") == 1
    (told,) = rows(crawl_project, "SELECT cause, pages_failed FROM layout_alarms")
    assert told[0].startswith("content root lost on ")
    html_of = {origin + path: html for path, html in mixed}
    last = [line for line in crawled.stored if "/new/" in line["id"]][NOTICED_WITHIN:]
    recalls = {line["id"]: scored(site, html_of[line["id"]], line["cleaned"]).recall for line in last}
    assert len(recalls) == AFTER - NOTICED_WITHIN
    assert {url: recall for url, recall in recalls.items() if recall < RECALL} == {}
