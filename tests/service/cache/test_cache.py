from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cache import cache
from scrapy_dedup.service.cache.cache import CacheCheck
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DecisionRecord, Fetched, SourceRecord, Verdict, VisitRecord
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.cached import a_page, an_extraction, text_of
from tests.service.conftest import on_both
from tests.service.stored_pages import DOMAIN, NOON, a_url, html_page
from tests.tables import table

NEXT_DAY = NOON + timedelta(days=1)
KEY = page_key(a_url(1))


def a_visit(
    name: object, fetched: Fetched, verdict: Verdict | None = "unchanged", size: int = 0, *, ran: bool = False
) -> VisitRecord:
    at = NEXT_DAY + timedelta(seconds=1 + (fetched == "get"))
    return VisitRecord(page_key(a_url(name)), at, fetched, verdict, "why", bytes_received=size, callback_run=ran)


@on_both
class TestStats:
    @pytest.fixture
    def crawled(self, project) -> ProjectStore:
        """Two runs: the first extracted six pages of 1,000 bytes."""
        project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write(record for name in range(6) for record in a_page(name))
        project.begin_run(spider="site", jobdir=None, started_at=NEXT_DAY)
        project.write(
            [
                a_visit(0, "304", size=10),
                a_visit(1, "304"),
                a_visit(2, "get", size=1200),
                a_visit(3, "skip"),
                a_visit(4, "get", "changed", 800, ran=True),
                # Unchanged, but with a new link: its callback ran.
                a_visit(5, "get", size=1200, ran=True),
                a_visit(0, "get", None),
                a_visit(1, "get", "removed"),
            ]
        )
        return project

    def test_are_of_the_last_run_against_the_average_of_all_visits_with_a_callback(self, crawled):
        """These have 1,000 bytes on average."""
        stats = cache.cache_stats(crawled)

        assert stats.run.started_at == NEXT_DAY
        (domain,) = stats.domains
        assert (domain.domain, domain.visits, domain.hits, domain.misses) == (DOMAIN, 8, 4, 2)
        assert (domain.hit_rate, domain.not_modified, domain.bytes_received) == (0.5, 2, 3210)
        # What was received whole saves nothing of that.
        assert domain.bytes_saved == 3 * 1000 - 10
        assert (domain.extractions, domain.packed_bytes > 0) == (6, True)

    def test_domains_are_apart_and_add_up_and_other_projects_do_not_count(self, store, crawled):
        crawled.write([*a_page(1, url="https://a.example/1"), a_visit("deleted", "get", "removed")])
        crawled.write([an_extraction("https://b.example/1", "x")])
        store.project("other").write([*a_page(0), a_visit(0, "304")])

        stats = cache.cache_stats(crawled)

        assert [(one.domain, one.visits, one.extractions) for one in stats.domains] == [
            ("", 1, 0),  # of a page that nobody knows any more
            ("a.example", 1, 1),
            ("b.example", 0, 1),
            (DOMAIN, 8, 6),
        ]
        assert (stats.total.visits, stats.total.extractions) == (10, 8)


def verify(project: ProjectStore, *, fix: bool = False) -> CacheCheck:
    return cache.verify(project, Settings(), lambda _pages: None, fix=fix)


class TestVerify:
    @pytest.fixture
    def filled(self, project) -> ProjectStore:
        project.write([record for name in range(3) for record in a_page(name)])
        project.write([an_extraction(a_url(1), "older")])
        return project

    def damage(self, store: Store, statement: str) -> None:
        with store.session() as session:
            older = an_extraction(a_url(1), "older").memo_key
            values = {"key": KEY, "bad": b"\x01\x02\x03", "older": older}
            session.execute(text(statement), {name: value for name, value in values.items() if f":{name}" in statement})
            session.commit()

    @table("service/tells_what_is_damaged_and_fixed_its_page_comes_again")
    def test_tells_what_is_damaged_and_fixed_its_page_comes_again(self, store, filled, statement, part):
        self.damage(store, statement)

        for _ in range(2):
            check = verify(filled)
            assert [(one.url, one.part) for one in check.damages] == [(a_url(1), part)]
            assert (check.damaged, check.pages, check.extractions, check.fixed) == ({part: 1}, 3, 4, False)
        assert verify(filled, fix=True).damaged == {part: 1}

        # Without an extraction of its content the page is fetched whole, and its callback runs.
        assert an_extraction(a_url(1), text_of(1)).memo_key not in filled.page_states([KEY])[KEY].memo_keys
        left = 3 if part == "extraction" else 2
        assert verify(filled) == CacheCheck(pages=3, extractions=left)
        page = filled.page(KEY)
        assert (page.source.content is None) is (part in ("original", "text"))

    def test_takes_a_damaged_decision_for_a_text_that_cannot_be_compared(self, store, filled):
        self.damage(store, "UPDATE decisions SET detail = :bad WHERE page_key = :key")
        assert verify(filled).damaged == {}
        self.damage(store, "UPDATE sources SET cleaned_content = 'cut' WHERE page_key = :key")

        assert verify(filled).damaged == {"text": 1}

    def test_takes_an_original_that_is_not_kept_for_no_damage(self, project):
        project.write(record for record in a_page(1) if not isinstance(record, SourceRecord))

        assert verify(project).damaged == {}

    @pytest.mark.parametrize(
        ("form", "since"),
        [
            ("markdown", {}),
            ("text", {}),
            ("html", {}),
            ("html", {"output": "text"}),
            ("markdown", {"boilerplate_text_patterns": (r"\w+\W*$",)}),
            ("html", {"boilerplate_text_patterns": (r"\w\w\W*$", "h, so that it co")}),
        ],
        ids=["markdown", "text", "html", "other-form", "expressions", "within-words"],
    )
    def test_takes_a_page_that_was_analysed_since_for_no_damage(self, store, project, form, since):
        """`scrapy dedup templates analyze` cuts what is stored anew; the hash is that of what was seen."""
        banner = "We use cookies to count visitors, and to remember what is in your basket."
        settings = Settings(output=form)
        for name in range(6):
            url, html = a_url(name), html_page(name, banner)
            source = StoredSource(page_key(url), url, "", None, "html", html, None, None, None, NOON)
            reading = read_again(source, settings)
            whole = reading.clean(Boilerplate(), settings).content
            others = (one for one in a_page(name, text=whole) if not isinstance(one, SourceRecord | DecisionRecord))
            project.write([*others, SourceRecord(page_key(url), url, DOMAIN, "html", html, NOON)])
        with store.session() as session:
            DomainDedupService(session, replace(settings, **since)).analyze_project(project.id)

        # With another form chosen since, too.
        assert verify(project).damaged == {}
        page = project.page(KEY)
        assert banner not in str(page.source.cleaned_content)
