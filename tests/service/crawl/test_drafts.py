"""Domains that a crawl met while the store did not answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_dedup.core.patterns.config import SiteConfig
from scrapy_dedup.service.crawl.crawl import Crawl, Stored, load, recall_late
from scrapy_dedup.service.learning.learning import knowledge_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_boilerplate
from tests.tables import table


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProjectStore]:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        yield store.project("shop")


def a_crawl(project: ProjectStore) -> Crawl:
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
    return Crawl(project, run, Settings(), lambda *_: None)


@table("service/what_was_known_holds_from_when_the_store_is_back")
def test_what_was_known_holds_from_when_the_store_is_back(project: ProjectStore, stored: int, learned: int, left: int):
    crawl = a_crawl(project)
    learner = crawl.meet(DOMAIN, "template", None)
    if learned:
        project.write([a_boilerplate(method="template", pages_analyzed=learned)])
        learner.recall(knowledge_of(project.knowledge(DOMAIN)["template"]))
    project.write([a_boilerplate(method="template", pages_analyzed=stored)])

    recall_late(crawl, DOMAIN, load(project, DOMAIN))

    assert (learner.known, learner.boilerplate.pages) == (True, left)


def test_what_people_decided_holds_too(project: ProjectStore) -> None:
    crawl = a_crawl(project)
    crawl.meet(DOMAIN, "template", None)
    config = SiteConfig(keep_pages=("00",))

    recall_late(crawl, DOMAIN, Stored(config=config))

    assert crawl.configs[DOMAIN] is config
