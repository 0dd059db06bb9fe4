import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.report.values import LayerFigures, Report, ReportRecrawl
from scrapy_dedup.service.crawl.commits import LAYER
from scrapy_dedup.service.report.overview import READABLE_CHARS, findings, make_report, overview
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import CrawledUrlRecord, DecisionRecord, DocumentRecord, VisitRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import (
    BANNER,
    DOMAIN,
    FOOTER,
    NOON,
    a_url,
    html_page,
    put,
    put_html,
    put_text,
    text_page,
    unique,
)

HOUR = timedelta(hours=1)


def analyze(store: Store, project: ProjectStore, **parameters: float) -> None:
    with store.session() as session:
        DomainDedupService(session, Settings()).analyze_project(project.id, **parameters)  # type: ignore[arg-type]


def report_of(store: Store, project: ProjectStore) -> Report:
    return make_report(store, project, Settings(), NOON)


class TestOverview:
    def test_the_worst_domain_comes_first(self, store: Store, project: ProjectStore) -> None:
        for domain, repeated in (("a.example", ()), ("b.example", (BANNER, FOOTER)), ("c.example", (BANNER,))):
            pages = {f"https://{domain}/{name}": html_page(name, *repeated) for name in range(5)}
            put(project, pages)
        analyze(store, project)

        found = overview(store, project)

        assert [each.domain for each in found.domains] == ["b.example", "c.example", "a.example"]
        assert (found.total.pages, found.domains_with_much) == (15, 2)
        assert found.total.chars_in == sum(each.chars_in for each in found.domains)
        assert found.total.removed_share == pytest.approx(5 * (2 * len(BANNER) + len(FOOTER)) / found.total.chars_in)

    @pytest.mark.parametrize(("repeats", "exceeds"), [(10, 0), (11, 1)])
    def test_much_is_more_than_a_tenth(self, store: Store, project: ProjectStore, repeats: int, exceeds: int) -> None:
        page = ["x" * repeats, "y" * (100 - repeats)]
        put(project, {a_url(n): f"<p>{page[0]}</p><div>{page[1][:-1]}{n}</div>" for n in range(5)})
        analyze(store, project)

        assert overview(store, project).domains_with_much == exceeds


class TestReport:
    def test_it_is_the_sum_of_what_is_stored(self, store: Store, project: ProjectStore) -> None:
        put_html(project, range(6), BANNER, "Menu")
        analyze(store, project)

        report = report_of(store, project)

        removed = 6 * len(BANNER + "Menu")
        (domain,) = report.domains
        assert (report.project, report.generated_at, report.pages_fetched) == ("shop", NOON, 6)
        assert (domain.domain, domain.pages, domain.chars_in - domain.chars_out) == (DOMAIN, 6, removed)
        assert domain.removed_by_layer == {"boilerplate": removed}
        by_name = {each.layer: each for each in report.layers}
        boilerplate = by_name["boilerplate"]
        assert boilerplate == LayerFigures("boilerplate", boilerplate.prevents, 0, 12, removed)
        assert not any(each.blocks or each.chars for each in report.layers if each is not boilerplate)

    def test_duplicates_are_fetched_pages_and_redirects_are_not(self, store: Store, project: ProjectStore) -> None:
        put_html(project, [1])
        target = page_key(a_url(1))
        for name, status in (("copy", "duplicate"), ("moved", "alias"), ("gone", "failed")):
            key = page_key(a_url(name))
            project.write([CrawledUrlRecord(key, a_url(name), DOMAIN, status, NOON, document_key=target)])  # type: ignore[arg-type]

        assert report_of(store, project).pages_fetched == 2

    @pytest.mark.parametrize(
        ("fill", "evidence"),
        [(put_html, "on 5 of 5 pages"), (put_text, "on 5 of 5 pages")],
        ids=["html", "text"],
    )
    def test_samples_show_what_was_removed_and_why(
        self, store: Store, project: ProjectStore, fill: object, evidence: str
    ) -> None:
        assert callable(fill)
        fill(project, range(5), BANNER)
        analyze(store, project)

        sample = report_of(store, project).samples[0]

        assert [(block.text, block.kept) for block in sample.blocks] == [
            (BANNER, False),
            (sample.blocks[1].text, True),
        ]
        assert evidence in sample.blocks[0].evidence
        assert sample.cleaned.strip() == sample.blocks[1].text

    def test_samples_are_the_pages_that_lost_most_the_middle_and_least(self, store: Store, project: ProjectStore):
        pages = {a_url(name): html_page(name, BANNER, "own " * name * 10 + str(name)) for name in range(1, 8)}
        put(project, pages)
        analyze(store, project)

        first = report_of(store, project).samples

        assert [sample.url for sample in first] == [a_url(1), a_url(4), a_url(7)]
        assert first == report_of(store, project).samples


class TestRuns:
    def finished(self, project: ProjectStore, name: str, dropped: int, at: datetime = NOON) -> uuid.UUID:
        run = project.begin_run(spider="site", jobdir=None, started_at=at)
        put(project, {f"https://{name}.example/{n}": text_page(n, unique(name)) for n in range(5)}, field="content")
        stats = {"dedup/url/dropped": dropped, "dedup/canonical/dropped": 1}
        project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=at)
        return run.id

    def test_a_run_shows_what_it_fetched_last(self, store: Store, project: ProjectStore) -> None:
        first = self.finished(project, "first", 7)
        self.finished(project, "second", 4)
        analyze(store, project)
        run = next(run for run in project.last_runs() if run.id == first)

        report = make_report(store, project, Settings(), NOON, run)

        assert report.pages_fetched == 5
        assert [each.domain for each in report.domains] == ["first.example"]
        assert [(each.layer, each.pages, each.blocks) for each in report.layers if each.pages or each.blocks] == [
            ("url", 7, 0),
            ("canonical", 1, 0),
            ("boilerplate", 0, 5),
        ]
        assert [each.domain for each in report.repeated] == ["first.example"]
        assert {sample.url.split("/")[2] for sample in report.samples} == {"first.example"}

    def test_a_project_sums_what_its_runs_dropped(self, store: Store, project: ProjectStore) -> None:
        self.finished(project, "first", 7)
        self.finished(project, "second", 4)

        report = report_of(store, project)

        assert report.pages_fetched == 10
        assert {each.layer: each.pages for each in report.layers if each.pages} == {"url": 11, "canonical": 2}


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


def found(store: Store, project: ProjectStore, run_id: uuid.UUID | None = None) -> ReportRecrawl | None:
    runs = {run.id: run for run in project.last_runs()}
    run = runs[run_id] if run_id else next(iter(project.last_runs(1)))
    return findings(store, project, Settings(), run)


def crawl_with_diffs(project: ProjectStore, *lengths: int) -> None:
    begin(project, 0)
    for number, chars in enumerate(lengths):
        visit(project, number, "changed", 1, diff="d" * chars, change_class="content")


def diffs(store: Store, project: ProjectStore) -> list[int]:
    recrawl = found(store, project)
    return [len(page.diff) for page in recrawl.diffs] if recrawl else []


@pytest.mark.parametrize(
    "verdicts",
    [pytest.param([], id="nothing"), pytest.param(["new", "new", None], id="new-pages"), pytest.param(["duplicate"])],
)
def test_crawl_that_met_no_known_page_found_nothing_to_tell(
    store: Store, project: ProjectStore, verdicts: list[str | None]
) -> None:
    begin(project, 0)
    for name, verdict in enumerate(verdicts):
        visit(project, name, verdict, 1)

    assert found(store, project) is None


def test_figures_are_those_of_the_run_alone(store: Store, project: ProjectStore) -> None:
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

    assert found(store, project, first) is None
    assert found(store, project, second) == ReportRecrawl(
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
    last = found(store, project, third)
    assert last
    assert (last.unchanged, last.callbacks_saved) == (1, 1)


def test_report_is_on_the_last_run_or_the_one_that_was_asked_for(store: Store, project: ProjectStore) -> None:
    for hours, verdict in enumerate(("new", "changed", "unchanged")):
        begin(project, hours)
        visit(project, 1, verdict, hours)
    runs = project.last_runs()

    def unchanged(*asked: Any) -> int | None:
        recrawl = make_report(store, project, Settings(), NOON, *asked).recrawl
        return recrawl.unchanged if recrawl else None

    assert [unchanged(), unchanged(runs[0]), unchanged(runs[1]), unchanged(runs[2])] == [1, 1, 0, None]


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [
        pytest.param([30, 10, 20], [10, 20, 30], id="three-are-all-shown"),
        pytest.param([30], [30], id="one"),
        pytest.param([30, 20], [20, 30], id="two"),
        pytest.param([0, 0, 7, 0], [7], id="some-without-a-diff"),
        pytest.param(range(9, 0, -1), [2, 5, 8], id="a-small-a-middling-and-a-large-one"),
        pytest.param([READABLE_CHARS + 9, *range(1, 4), READABLE_CHARS + 8], [1, 2, 3], id="those-that-can-be-read"),
        pytest.param([READABLE_CHARS + 9, READABLE_CHARS + 1, READABLE_CHARS + 5, 1], [1, 3_001, 3_005], id="too-few"),
        pytest.param([0, 0], [], id="none-is-kept"),
    ],
)
def test_three_of_the_changes_are_shown(store: Store, project: ProjectStore, lengths: list[int], shown: list[int]):
    crawl_with_diffs(project, *lengths)

    assert diffs(store, project) == shown


def test_diff_of_a_later_run_is_not_this_ones(store: Store, project: ProjectStore) -> None:
    crawl_with_diffs(project, 5)
    run = project.last_runs(1)[0].id
    begin(project, 10)
    visit(project, 1, "changed", 11, diff="other")

    recrawl = found(store, project, run)

    assert recrawl
    told = [(page.url, page.title, page.change, page.diff) for page in recrawl.diffs]
    assert told == [(a_url(0), "Page 0", "content", "ddddd")]
