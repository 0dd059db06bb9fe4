from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from scrapy_dedup.core.pages.fingerprints import content_hash, parts_hash, to_hex
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.model_file import model_hash
from scrapy_dedup.service.stored.refining import DomainChurn, PassedOver, Refinement, Refiner, recleaned, write_refined
from scrapy_dedup.service.templates.site_knowledge import REST, learn_site
from scrapy_dedup.service.templates.site_records import template_record
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    BoilerplateRecord,
    DocumentRecord,
    ExtractionRecord,
    Field,
    GoneRecord,
    SourceRecord,
    TemplateRecord,
)
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.writer import ProjectStore
from tests.service import learned_site
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, text_page

URL = a_url("posts/hemp")
KEY = page_key(URL)
LATER = NOON + timedelta(days=1)
OLD = content_hash("an older text")
POST = learned_site.post("hemp")


def put(project: ProjectStore, url: str, content: str, field: Field = "html", **document: Any) -> bytes:
    """Store a page as a crawl leaves it whose items are safe."""
    key, domain = page_key(url), extract_domain(url) or ""
    state: dict[str, Any] = {"chars_in": 9, "chars_out": 9, "content_hash": OLD, "last_changed_at": NOON} | document
    project.write(
        [
            DocumentRecord(key, url, domain, "completed", NOON, **state),
            SourceRecord(key, url, domain, field, content, NOON, cleaned_content="an older text"),
        ]
    )
    return key


def put_site(project: ProjectStore) -> dict[str, str]:
    """Store a site, and what was learned of it since."""
    pages = learned_site.pages()
    for url, html in pages.items():
        put(project, url, html)
    knowledge = learn_site(DOMAIN, pages.items(), Settings())
    project.write(template_record(knowledge, layout, NOON) for layout in sorted(knowledge.templates))
    return pages


def an_item(url: str = URL, text: str = "an older text", *, chars_in: int | None = 9, **fields: Any) -> dict[str, Any]:
    """Return an item as an outcome has it; without chars_in it has no report."""
    report = {"dedup": {"url": url, "content_hash": content_hash(text).hex(), "chars_in": chars_in}}
    return {"class": "dict", "fields": {"url": url, "cleaned_content": text} | (report if chars_in else {}) | fields}


def an_outcome(items: list[dict[str, Any]] | None, callback: str = "parse", days: int = 0) -> ExtractionRecord:
    memo = parts_hash(KEY, callback.encode())
    at = NOON + timedelta(days=days)
    return ExtractionRecord(memo, KEY, URL, DOMAIN, OLD, callback, at, items=items)


class Found:
    """What refining finds, and what it comes to."""

    def __init__(self, project: ProjectStore, **settings: Any) -> None:
        chosen = replace(Settings(), **settings)
        refiner = self.refiner = Refiner(project, chosen)
        self.told: list[tuple[str, int]] = []
        domains = refiner.domains()
        self.lots = list(refiner.lots(domains, lambda *seen: self.told.append(seen)))
        self.pages: list[Refinement] = [page for lot in self.lots for page in lot]
        self.churns = refiner.churns

    @property
    def churn(self) -> DomainChurn:
        (found,) = self.churns.values()
        return found


@pytest.fixture
def refined(project) -> Refinement:
    """One page whose text changes."""
    put_site(project)
    return next(page for page in Found(project).pages if page.source.url == URL)


class TestAnotherModel:
    """Its templates stay what crawls cut by, until somebody refines."""

    @pytest.fixture(autouse=True)
    def _templates(self, project) -> None:
        """The site is as the present model has it, but its templates are those of another that keeps all."""
        pages = learned_site.pages()
        knowledge = learn_site(DOMAIN, pages.items(), Settings())
        for url, html in pages.items():
            key, text = put(project, url, html), clean_page(html, url, knowledge, Settings()).cleaned.content
            project.write([SourceRecord(key, url, DOMAIN, "html", html, NOON, cleaned_content=text)])
        for one in knowledge.templates.values():
            verdicts = {path: structs.replace(each, keep=True) for path, each in one.template.verdicts.items()}
            keeping = structs.replace(one.template, verdicts=verdicts, repeated={}, surrounding={})
            knowledge.templates[one.layout] = structs.replace(one, template=keeping, model="another")
        project.write(template_record(knowledge, layout, NOON) for layout in sorted(knowledge.templates))

    def test_takes_its_place_once_refining_is_through(self, project):
        Found(project).refiner.settle()

        assert {one.model for one in project.templates(DOMAIN)} == {model_hash()}
        assert Found(project).churn.changed == 0

    def test_is_not_asked_where_fewer_pages_are_kept_than_the_site_was_learned_from(self, project):
        rest = next(one for one in project.templates(DOMAIN) if one.layout == REST)
        record = {name: getattr(rest, name) for name in TemplateRecord.__struct_fields__}
        project.write([TemplateRecord(**record | {"body": dict(rest.body) | {"pages": 60}})])

        assert Found(project).churn.changed > 0


class TestFinding:
    @pytest.mark.parametrize(
        ("content", "document", "records", "why"),
        [
            pytest.param(POST, {"last_changed_at": LATER}, [], PassedOver.NOT_SEEN, id="newer-version-never-safe"),
            pytest.param(POST, {"last_changed_at": None}, [], PassedOver.NOT_SEEN, id="never-safe"),
            pytest.param(POST, {}, [GoneRecord(KEY, LATER)], PassedOver.REMOVED, id="removed"),
            pytest.param("<div>" * 100_000, {}, [], PassedOver.UNREADABLE, id="not-to-be-parsed"),
        ],
    )
    def test_pages_that_cannot_be_sent_anew_are_passed_over_with_the_reason(
        self, project, content, document, records, why
    ):
        put_site(project)
        put(project, URL, content, **document)
        project.write(records)

        found = Found(project)

        assert found.churn.passed_over == {why: 1}
        assert URL not in {page.source.url for page in found.pages}

    def test_pages_that_another_model_judged_by_themselves_are_judged_again(self, project):
        put(project, URL, POST)
        put(project, a_url("posts/rope"), learned_site.post("rope"))
        by_another = SourceRecord(KEY, URL, DOMAIN, "html", POST, NOON, report={"model": "another"})
        project.write([structs.replace(by_another, cleaned_content="an older text")])

        found = Found(project)

        assert [page.source.url for page in found.pages] == [URL]
        assert found.churn.passed_over == {PassedOver.NO_KNOWLEDGE: 1}

    @pytest.mark.parametrize("method", ["html", "text"])
    def test_other_methods_leave_out_what_repeats(self, project, method):
        chosen = replace(Settings(), boilerplate_method=method)
        for name in range(6):
            put(project, a_url(name), f"<p>{BANNER}</p><p>{text_page(name)}</p>")
        reading = read_again(a_source(content=f"<p>{BANNER}</p>"), chosen)
        ((fingerprint, _, _),) = reading.blocks()
        project.write([BoilerplateRecord(DOMAIN, method, (to_hex(fingerprint),), pages_analyzed=6)])

        found = Found(project, boilerplate_method=method)

        assert [BANNER in page.cleaned.content for page in found.pages] == [False] * 6
        assert {page.method for page in found.pages} == {method}


def a_source(**fields: Any) -> StoredSource:
    known: dict[str, Any] = {"cleaned_content": "an older text", "content": "<p>", "fetched_at": NOON}
    known |= fields
    return StoredSource(KEY, URL, DOMAIN, None, "html", title=None, content_type=None, **known)


class TestWriting:
    def write(self, project: ProjectStore, page: Refinement) -> int:
        return write_refined(project, Settings(), [recleaned(page.source, page.cleaned, LATER)])

    def test_text_figures_and_decision_change_together_and_outcomes_stay(self, project, refined):
        kept = an_outcome([an_item()])
        project.write([kept])

        written = self.write(project, refined)

        stored = project.page(KEY)
        assert written == 1
        assert store_text(project) == refined.cleaned.content
        assert stored.document.chars_out == refined.cleaned.chars_out < (stored.document.chars_in or 0)
        assert stored.document.content_hash == OLD
        assert [one.layer for one in project.decisions(KEY)] == ["boilerplate"]
        assert [one.items for one in project.extractions_of(KEY)] == [kept.items]

    def test_page_of_which_a_newer_version_came_stays_as_it_is(self, project, refined):
        put(project, URL, "<p>Newer", last_changed_at=LATER)

        assert self.write(project, refined) == 0
        assert store_text(project) == "an older text"
        assert project.decisions(KEY) == []


def store_text(project: ProjectStore) -> str | None:
    stored = project.page(KEY)
    return stored.source.cleaned_content
