import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.fingerprints import to_hex
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.views.changes import (
    NO_PASSAGE,
    NO_TEXT,
    NOT_KEPT,
    ChangesChoice,
    PageChange,
    Since,
    SinceError,
    iterate_changes,
    since,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    BoilerplateRecord,
    DecisionRecord,
    DocumentRecord,
    KeepPolicy,
    SourceRecord,
    VisitRecord,
)
from scrapy_dedup.store.writer import ProjectStore
from tests.service.conftest import on_both
from tests.service.stored_pages import DOMAIN, NOON, a_url, html_page

HOUR = timedelta(hours=1)


@pytest.fixture
def project(store) -> ProjectStore:
    return store.project("shop", KeepPolicy(pages=3))


def begin(project: ProjectStore, hours: float) -> uuid.UUID:
    return project.begin_run(spider="site", jobdir=None, started_at=NOON + hours * HOUR).id


def visit(
    project: ProjectStore, name: object, verdict: Any, hours: float, html: str | None = None, **more: Any
) -> None:
    """Store what a crawl stores of a page that it found so."""
    at, key = NOON + hours * HOUR, page_key(a_url(name))
    domain = more.pop("domain", DOMAIN)
    fields: dict[str, Any] = {"reason": f"{verdict} at {hours:g}", "http_status": 200, **more}
    field: Any = fields.pop("field", "html")
    project.write([VisitRecord(key, at, "get", verdict, **fields)])
    project.write([DocumentRecord(key, a_url(name), domain, "completed", at)])
    if html is not None:
        project.write([SourceRecord(key, a_url(name), domain, field, html, at)])


def found(project: ProjectStore, start: Since, **choice: Any) -> list[PageChange]:
    return list(iterate_changes(project, start, ChangesChoice(**choice), Settings()))


class TestSince:
    @pytest.mark.parametrize(
        ("said", "at"),
        [
            pytest.param("2026-02-01", datetime(2026, 2, 1, tzinfo=UTC), id="a-day"),
            pytest.param(" 2026-02-01T10:30 ", datetime(2026, 2, 1, 10, 30, tzinfo=UTC), id="without-a-zone-is-utc"),
            pytest.param("2026-02-01 10:30+02:00", datetime(2026, 2, 1, 8, 30, tzinfo=UTC), id="with-a-zone"),
            pytest.param("2026-02-01T10:30Z", datetime(2026, 2, 1, 10, 30, tzinfo=UTC), id="zulu"),
            pytest.param("7d", NOON - timedelta(days=7), id="days"),
            pytest.param("12H", NOON - timedelta(hours=12), id="hours"),
            pytest.param("4w", NOON - timedelta(weeks=4), id="weeks"),
            pytest.param("0d", NOON, id="now"),
        ],
    )
    def test_a_date_or_an_age_is_an_instant(self, project, said, at):
        assert since(project, said, NOON) == Since(at)

    def test_a_beginning_that_runs_share_is_refused_with_their_ids(self, project):
        """Of 17 runs two have the same first digit."""
        runs = [str(begin(project, hours)) for hours in range(17)]
        first = next(digit for digit in "0123456789abcdef" if sum(run[0] == digit for run in runs) > 1)
        shared = sum(run[0] == first for run in runs)

        with pytest.raises(SinceError, match=f"beginning of {shared} runs .*{first}.*give more digits"):
            since(project, first, NOON)


class TestWhichChanges:
    @on_both
    def test_new_changed_and_removed_pages_in_the_order_of_time(self, project):
        run = begin(project, 0)
        visit(project, "c", "removed", 3, http_status=404)
        visit(project, "a", "new", 1)
        visit(project, "b", "changed", 2, change_class="numbers")
        visit(project, "d", "unchanged", 2)
        visit(project, "e", None, 2)

        changes = found(project, Since(NOON, run))

        assert [(each.verdict, each.url) for each in changes] == [
            ("new", a_url("a")),
            ("changed", a_url("b")),
            ("removed", a_url("c")),
        ]
        assert changes[1].change_class == "numbers"
        assert {each.run_id for each in changes} == {run}
        assert {each.domain for each in changes} == {DOMAIN}


OLD = html_page(1, "Tea costs 3 euros.", "Shipping is free.")
NEW = html_page(1, "Tea costs 4 euros.", "Shipping is free.")
NEWEST = html_page(1, "Tea costs 5 euros.", "Shipping is free.")


class TestDiff:
    def diffs(self, project: ProjectStore, **settings: Any) -> list[tuple[str | None, str | None]]:
        changes = iterate_changes(project, Since(NOON), ChangesChoice(diff=True), Settings(**settings))
        return [(each.diff, each.no_diff) for each in changes if each.verdict == "changed"]

    def test_what_an_earlier_run_wrote_down_is_not(self, project):
        begin(project, 0)
        decision = DecisionRecord(page_key(a_url(1)), "unchanged", "changed", "differs", NOON, {"diff": "-a\n+b"})
        project.write([decision])
        begin(project, 1)
        visit(project, 1, "changed", 1, NEW)

        assert self.diffs(project) == [(None, NOT_KEPT)]

    def test_without_it_each_change_is_that_of_its_two_versions(self, project):
        visit(project, 1, "new", 0, OLD)
        visit(project, 1, "changed", 1, NEW)
        visit(project, 1, "unchanged", 2)
        visit(project, 1, "changed", 3, NEWEST)

        (first, _), (second, _) = self.diffs(project)

        assert first.splitlines()[3:] == ["-Tea costs 3 euros.", "+Tea costs 4 euros."]
        assert second.splitlines()[3:] == ["-Tea costs 4 euros.", "+Tea costs 5 euros."]

    def test_what_repeats_on_the_site_is_no_change(self, project):
        visit(project, 1, "new", 0, html_page(1, "Monday", "Tea costs 3 euros."))
        visit(project, 1, "changed", 1, html_page(1, "Tuesday", "Tea costs 4 euros."))
        pages = [parse_page(html_page(1, day)) for day in ("Monday", "Tuesday")]
        known = [page.fingerprints[0] for page in pages if isinstance(page, Page)]
        project.write([BoilerplateRecord(DOMAIN, "html", tuple(sorted(map(to_hex, known))), pages_analyzed=9)])

        ((diff, _),) = self.diffs(project)

        assert diff.splitlines()[3:] == ["-Tea costs 3 euros.", "+Tea costs 4 euros."]

    @pytest.mark.parametrize(
        ("versions", "settings", "reason"),
        [
            pytest.param([NEW], {}, NOT_KEPT, id="one-version"),
            pytest.param([None], {}, NOT_KEPT, id="no-version"),
            pytest.param([OLD, OLD.replace("<title>Page 1", "<title>Page one")], {}, NO_PASSAGE, id="title-alone"),
            pytest.param([OLD, NEW + " " * 2_000], {"max_page_bytes": 1_000}, NO_TEXT, id="too-large"),
        ],
    )
    def test_where_there_is_none_it_says_why(self, project, versions, settings, reason):
        for hours, html in enumerate(versions):
            visit(project, 1, "changed" if hours == len(versions) - 1 else "new", hours, html)

        assert self.diffs(project, **settings) == [(None, reason)]
