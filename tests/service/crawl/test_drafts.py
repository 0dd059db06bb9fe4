import pytest
from msgspec.structs import replace

from scrapy_dedup.core.duplicates import NO_FIELDS, PageEvidence, fields_hash, proves_near
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service.crawl.crawl import Crawl, RunEvidence, Stored, is_shown, load, recall_late
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.learning import knowledge_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_boilerplate, a_key
from tests.tables import table


def a_crawl(project: ProjectStore) -> Crawl:
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
    return Crawl(project, run, Settings(), lambda *_: None)


@table("service/what_was_known_holds_from_when_the_store_is_back")
def test_what_was_known_holds_from_when_the_store_is_back(project, stored, learned, left):
    crawl = a_crawl(project)
    learner = crawl.meet(DOMAIN, "template", None)
    if learned:
        project.write([a_boilerplate(method="template", pages_analyzed=learned)])
        learner.recall(knowledge_of(project.knowledge(DOMAIN)["template"]))
    project.write([a_boilerplate(method="template", pages_analyzed=stored)])

    recall_late(crawl, DOMAIN, load(project, DOMAIN))

    assert (learner.known, learner.boilerplate.pages) == (True, left)


def test_what_people_decided_holds_too(project):
    crawl = a_crawl(project)
    crawl.meet(DOMAIN, "template", None)
    config = SiteConfig(keep_pages=("00",))

    recall_late(crawl, DOMAIN, Stored(config=config))

    assert crawl.configs[DOMAIN] is config


DROPPING = Settings(near_duplicate="drop")


def a_draft(name: str, html: str) -> Draft:
    page = parse_page(html)
    assert isinstance(page, Page)
    return Draft(f"https://a.example/{name}", a_key(name), "a.example", html, NOON, page=page)


def shows(evidence: RunEvidence, draft: Draft, other: Draft, fields: bytes | None) -> bool:
    shown = evidence.of(other.page_key)
    return shown is not None and is_shown(draft, PageEvidence.unpack(shown.pack()), fields, None)


@table("service/fields_of_two_items_are_the_same")
def test_fields_of_two_items_are_the_same(one, other, *, same):
    assert (fields_hash(one) == fields_hash(other)) is same


def test_fields_of_a_table_of_many_cells_can_be_compared():
    assert fields_hash({"rows": [*range(200_000)]}) not in (None, fields_hash({"rows": [*range(200_001)]}))


def test_fields_that_cannot_be_kept_equal_nothing():
    evidence, value = RunEvidence(), fields_hash({"page": object()})
    first, second = a_draft("first", "<p>One</p>"), a_draft("second", "<p>One</p>")
    evidence.note(first, value, Settings())
    evidence.note(second, value, Settings())

    assert value is None
    assert not shows(evidence, second, first, value)


@pytest.mark.parametrize(
    ("html", "settings", "proven"),
    [
        pytest.param("<p>Opens at 9 today</p>", DROPPING, True, id="other-words"),
        pytest.param("<p>Opens at 10 now</p>", DROPPING, False, id="another-number"),
        pytest.param("<p>Opens at 9 today</p>", Settings(), False, id="nobody-asked-for-numbers"),
    ],
)
def test_nearly_equal_pages_have_the_same_numbers(html, settings, *, proven):
    evidence = RunEvidence()
    first, second = a_draft("first", "<p>Opens at 9 now</p>"), a_draft("second", html)
    evidence.note(first, NO_FIELDS, settings)
    evidence.note(second, NO_FIELDS, settings)

    known, own = evidence.of(first.page_key), evidence.of(second.page_key)
    assert own is not None
    assert proves_near(own, PageEvidence.unpack(known.pack()), NO_FIELDS) is proven


def test_page_that_was_forgotten_proves_nothing():
    evidence = RunEvidence()
    first = a_draft("first", "<p>One</p>")
    second = replace(first, page_key=a_key("second"), evidence=None)
    evidence.note(first, NO_FIELDS, Settings())
    evidence.note(second, NO_FIELDS, Settings())
    known = shows(evidence, second, first, NO_FIELDS)
    evidence.forget(first.page_key)

    assert known
    assert not shows(evidence, second, first, NO_FIELDS)
