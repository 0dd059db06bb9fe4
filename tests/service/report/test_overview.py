import uuid
from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.report.values import Report, ReportDomainLayouts, ReportLayout, ReportRecrawl
from scrapy_dedup.service.crawl.commits import LAYER
from scrapy_dedup.service.report.overview import findings, make_report, shown_layouts
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    BlockEvidence,
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    TemplateStateRecord,
    VisitRecord,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.learned_site import FOOTER, put_site
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, put_html, put_text

HOUR = timedelta(hours=1)


def analyze(store: Store, project: ProjectStore, **parameters: float) -> None:
    with store.session() as session:
        DomainDedupService(session, Settings()).analyze_project(project.id, **parameters)  # type: ignore[arg-type]


def report_of(project: ProjectStore) -> Report:
    return make_report(project, Settings(), NOON)


class TestReport:
    def test_duplicates_are_fetched_pages_and_redirects_are_not(self, project):
        put_html(project, [1])
        target = page_key(a_url(1))
        for name, status in (("copy", "duplicate"), ("moved", "alias"), ("gone", "failed")):
            key = page_key(a_url(name))
            project.write([CrawledUrlRecord(key, a_url(name), DOMAIN, status, NOON, document_key=target)])  # type: ignore[arg-type]
        project.write([DocumentRecord(page_key(a_url("copy")), a_url("copy"), DOMAIN, "completed", NOON)])

        report = report_of(project)
        assert (report.pages_fetched, [each.pages for each in report.domains]) == (2, [2])

    @pytest.mark.parametrize("fill", [put_html, put_text])
    def test_samples_show_what_was_removed_and_why(self, store, project, fill):
        fill(project, range(5), BANNER)
        analyze(store, project)

        sample = report_of(project).samples[0]

        assert [(block.text, block.kept) for block in sample.blocks] == [(BANNER, False), (sample.blocks[1].text, True)]
        assert "on 5 of 5 pages" in sample.blocks[0].evidence
        assert sample.cleaned.strip() == sample.blocks[1].text


def begin(project: ProjectStore, hours: float) -> uuid.UUID:
    return project.begin_run(spider="site", jobdir=None, started_at=NOON + hours * HOUR).id


def visit(project: ProjectStore, name: object, verdict: Any, hours: float, *, diff: str = "", **more: Any) -> None:
    """Store what a crawl stores of a page that it found so."""
    at, key = NOON + hours * HOUR, page_key(a_url(name))
    fields: dict[str, Any] = {"fetched": "get", "reason": "", "bytes_received": 1_000, "callback_run": True, **more}
    project.write([VisitRecord(key, at, verdict=verdict, **fields)])
    project.write([DocumentRecord(key, a_url(name), DOMAIN, "completed", at, title=f"Page {name}")])
    if diff:
        project.write([DecisionRecord(key, LAYER, "changed", "", at, {"diff": diff})])


def found(project: ProjectStore, run_id: uuid.UUID | None = None) -> ReportRecrawl | None:
    runs = {run.id: run for run in project.last_runs()}
    run = runs[run_id] if run_id else next(iter(project.last_runs(1)))
    return findings(project, Settings(), run)


def crawl_with_diffs(project: ProjectStore, *lengths: int) -> None:
    begin(project, 0)
    for number, chars in enumerate(lengths):
        visit(project, number, "changed", 1, diff="d" * chars, change_class="content")


def test_figures_are_those_of_the_run_alone(project):
    first = begin(project, 0)
    for name in range(5):
        visit(project, name, "new", 1)
    second = begin(project, 5)
    visit(project, 0, "changed", 6)
    visit(project, 1, "unchanged", 6, callback_run=False)
    visit(project, 2, "unchanged", 6, callback_run=False, fetched="304", bytes_received=100)
    visit(project, 3, "unchanged", 6, callback_run=False, fetched="skip", bytes_received=0)
    visit(project, 4, "removed", 6, callback_run=False, fetched="skip", bytes_received=0)
    visit(project, 5, "new", 6)
    third = begin(project, 10)
    visit(project, 1, "unchanged", 11, callback_run=False)

    assert found(project, first) is None
    assert found(project, second) == ReportRecrawl(
        began_at=NOON + 5 * HOUR,
        new=1,
        changed=1,
        unchanged=3,
        removed=1,
        requests=4,
        not_modified=1,
        callbacks_run=2,
        callbacks_saved=3,
        bytes_received=3_100,
        bytes_saved=1_900,
        diffs=(),
    )
    last = found(project, third)
    assert last
    assert (last.unchanged, last.callbacks_saved) == (1, 1)


def test_diff_of_a_later_run_is_not_this_ones(project):
    crawl_with_diffs(project, 5)
    run = project.last_runs(1)[0].id
    begin(project, 10)
    visit(project, 1, "changed", 11, diff="other")

    recrawl = found(project, run)

    assert recrawl
    told = [(page.url, page.title, page.change, page.diff) for page in recrawl.diffs]
    assert told == [(a_url(0), "Page 0", "content", "ddddd")]


def of_kind(found: tuple[ReportDomainLayouts, ...], kind: str) -> ReportLayout:
    return next(each for each in found[0].layouts if each.kind == kind)


class TestLayouts:
    def test_examples_are_pages_with_such_urls(self, project):
        put_site(project)

        article = of_kind(shown_layouts(project), "article")

        assert article.examples[0] == a_url("posts/hemp")
        assert len(set(article.examples)) == 3
        assert all(url.startswith(a_url("posts/")) for url in article.examples)

    def test_what_stands_at_a_rule_is_shown_where_a_text_is_kept(self, project):
        put_site(project)
        path = "body>footer.end>p"
        project.write(
            [
                BoilerplateRecord(
                    DOMAIN,
                    "html",
                    pages_analyzed=20,
                    boilerplate_hashes=("0123456789abcdef",),
                    evidence={"0123456789abcdef": BlockEvidence(20, path, FOOTER)},
                )
            ]
        )

        article = of_kind(shown_layouts(project), "article")

        assert FOOTER in [each.example for each in article.template.left_out]

    def test_of_a_template_that_is_not_live_only_figures_are_shown(self, project):
        layouts = put_site(project)
        change = TemplateStateRecord(DOMAIN, layouts["article"], None, "probation", "worse than the fallback", NOON)
        project.set_template_state(change)

        article = of_kind(shown_layouts(project), "article")

        assert (article.template.state, article.template.reason) == ("probation", "worse than the fallback")
        assert (article.template.content, article.template.left_out, article.template.rules) == ((), (), 0)
