from scrapy_dedup.answers.pages import ExplanationAnswer
from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.report.values import ExplainedLike
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.service.views.explain import Explanation, explain, page_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ChunksRecord, DecisionRecord, GoneRecord, SignatureRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import BANNER, DOMAIN, FOOTER, NOON, a_url, html_page, put, put_html
from tests.tables import table


def explained(project: ProjectStore, name: object, settings: Settings | None = None) -> Explanation:
    return explain(project, a_url(name), settings or Settings())


def analyze(store: Store, project: ProjectStore, settings: Settings | None = None) -> None:
    with store.session() as session:
        DomainDedupService(session, settings or Settings()).analyze_project(project.id)


class TestRemovedBlocks:
    def test_each_has_layer_rule_and_evidence_as_often_as_the_page_has_it(self, store, project):
        put_html(project, range(7), FOOTER, BANNER, BANNER)
        put_html(project, range(7, 10), FOOTER)
        analyze(store, project, Settings(boilerplate_method="html"))

        found = explained(project, 0)

        assert [(block.text, block.path, block.evidence) for block in found.removed] == [
            (FOOTER, "body>header>p", "on 10 of 10 pages"),
            *[(BANNER, "body>header>p", "on 7 of 10 pages")] * 2,
        ]
        assert {block.layer for block in found.removed} == {"boilerplate"}
        assert {block.rule for block in found.removed} == {"repeated block: the same place and text"}

    def test_where_the_original_is_newer_the_domain_remembers(self, store, project):
        put_html(project, range(5), BANNER)
        analyze(store, project, Settings(boilerplate_method="html"))
        put(project, {a_url(0): html_page(0, "Another banner by now")})

        (block,) = explained(project, 0).removed

        assert (block.text, block.path, block.evidence) == (BANNER, "body>header>p", "on 5 of 5 pages")

    def test_where_nobody_remembers_the_evidence_stays(self, project):
        decision = DecisionRecord(
            page_key(a_url(1)),
            "boilerplate",
            "removed",
            "1 block, 5 of 9 characters",
            NOON,
            detail={"rules": [["repeated", "on 41 of 44 pages", 41, 44, ""]], "blocks": {"00000000000000aa": 0}},
        )
        project.write([decision])

        (block,) = explained(project, 1).removed

        assert (block.text, block.fingerprint, block.evidence) == ("", "00000000000000aa", "on 41 of 44 pages")


class TestBesideOthers:
    def test_chunks_come_with_the_pages_that_give_them(self, project):
        put_html(project, [1, 2])
        own = StoredChunk(0, "0" * 16, b"x" * 16, "added", "prose", 40, 10, "Own")
        key = page_key(a_url(2))
        shared = StoredChunk(1, "1" * 16, b"y" * 16, "removed", "prose", 40, 10, "Shared", "nl", "chunk", "why", key)
        given = StoredChunk(0, "2" * 16, b"y" * 16, "added", "prose", 40, 10, "Shared")
        project.write([ChunksRecord(key, (given,)), ChunksRecord(page_key(a_url(1)), (own, shared))])

        page = page_of(explained(project, 1), NOON)

        told = [(one.sample, one.layer, one.holder_url) for one in page.chunks]
        assert told == [("Own", None, ""), ("Shared", "chunk", a_url(2))]
        assert ("chunks", "2, 1 of them left out") in page.facts

    @table("service/the_page_that_it_is_like_is_told")
    def test_the_page_that_it_is_like_is_told(self, project, layer, name, told):
        put_html(project, [1, 2])
        keeper, own = page_key(a_url(2)), page_key(a_url(1))
        values = {"title_key": None, "language": "", "sketch": None, "layer": layer, "keeper": keeper, "jaccard": 0.93}
        project.write([SignatureRecord(page_key=own, domain=DOMAIN, text_hash=own, **values)])

        page = page_of(explained(project, 1), NOON)

        assert (name, told) in page.facts
        assert page.like == ExplainedLike(a_url(2), layer or "", 0.93)


def test_a_page_that_was_removed_is_told_as_removed(project):
    put_html(project, [1, 2])
    project.write([GoneRecord(page_key(a_url(2)), NOON)])

    found = [explained(project, name) for name in (1, 2)]

    assert [ExplanationAnswer.made(one).gone_at for one in found] == [None, NOON]
    facts = [dict(page_of(one, NOON).facts) for one in found]
    assert [one.get("removed") for one in facts] == [None, f"{NOON:%Y-%m-%d %H:%M} UTC: the site has it no more"]
