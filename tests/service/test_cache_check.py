from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from scrapy_dedup.core.repeats import Boilerplate
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.analysis import DomainDedupService
from scrapy_dedup.service.cache_check import Check, check_cache
from scrapy_dedup.service.cache_export import export_cache
from scrapy_dedup.service.reading import read_again
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import SourceRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredSource
from scrapy_dedup.store.writer import ProjectStore
from tests.service.cached import a_page, an_extraction
from tests.service.stored_pages import NOON, a_url, html_page

KEY = page_key(a_url(1))

# What is damaged, by what, and what the check calls it.
DAMAGES = [
    pytest.param("UPDATE extractions SET items = x'0102' WHERE page_key = :key", "extraction", id="items"),
    pytest.param(
        "UPDATE extractions SET requests = substr(requests, 1, 20) WHERE page_key = :key", "extraction", id="cut"
    ),
    pytest.param("UPDATE extractions SET cb_kwargs = x'' WHERE page_key = :key", "extraction", id="arguments"),
    pytest.param("UPDATE sources SET content = x'28b52f' WHERE page_key = :key", "original", id="original"),
    pytest.param("UPDATE sources SET cleaned_content = 'flipped' WHERE page_key = :key", "text", id="text"),
    pytest.param("UPDATE documents SET blocks = x'010203' WHERE page_key = :key", "blocks", id="blocks"),
    pytest.param("UPDATE decisions SET detail = x'01' WHERE page_key = :key", "decisions", id="decision"),
]


def damage(store: Store, statement: str) -> None:
    with store.session() as session:
        session.execute(text(statement), {"key": KEY})
        session.commit()


@pytest.fixture
def filled(project: ProjectStore) -> ProjectStore:
    project.write([record for name in range(3) for record in a_page(name)])
    return project


def test_what_is_sound_is_left_alone(store: Store, filled: ProjectStore) -> None:
    check = check_cache(store, filled, Settings(), fix=True)

    assert check == Check(pages=3, extractions=3, fixed=True)
    assert len(list(filled.iterate_extractions())) == 3


@pytest.mark.parametrize(("statement", "part"), DAMAGES)
class TestDamage:
    def test_is_told_and_nothing_is_changed(
        self, store: Store, filled: ProjectStore, statement: str, part: str
    ) -> None:
        damage(store, statement)

        for _ in range(2):
            check = check_cache(store, filled, Settings())
            assert [(one.url, one.part) for one in check.damages] == [(a_url(1), part)]
            assert check.damaged == {part: 1}
            assert (check.pages, check.extractions, check.fixed) == (3, 3, False)

    def test_is_deleted_and_its_page_comes_again(
        self, store: Store, filled: ProjectStore, statement: str, part: str, tmp_path: Path
    ) -> None:
        damage(store, statement)

        assert check_cache(store, filled, Settings(), fix=True).damaged == {part: 1}

        # Without an extraction the page is fetched whole, and its callback runs.
        assert filled.page_states([KEY])[KEY].memo_keys == frozenset()
        assert len(list(filled.iterate_extractions())) == 2
        assert check_cache(store, filled, Settings()) == Check(pages=3, extractions=2)
        assert export_cache(store, filled, tmp_path).pages == 3

    def test_does_not_end_an_export(
        self, store: Store, filled: ProjectStore, statement: str, part: str, tmp_path: Path
    ) -> None:
        damage(store, statement)

        export = export_cache(store, filled, tmp_path)

        if part != "text":  # which is exported as it is
            assert (export.pages, [one.url for one in export.left_out]) == (2, [a_url(1)])


def test_other_extractions_of_the_page_stay(store: Store, filled: ProjectStore) -> None:
    filled.write([an_extraction(a_url(1), "older")])
    with store.session() as session:
        statement = "UPDATE extractions SET items = x'0102' WHERE memo_key = :key"
        session.execute(text(statement), {"key": an_extraction(a_url(1), "older").memo_key})
        session.commit()

    check_cache(store, filled, Settings(), fix=True)

    assert len(list(filled.iterate_extractions())) == 3


def test_an_emptied_original_frees_its_room(store: Store, filled: ProjectStore) -> None:
    from scrapy_dedup.store.repositories import ProjectRepository

    def stored_bytes() -> int:
        with store.session(read_only=True) as session:
            return next(one.stored_bytes for one in ProjectRepository(session).list() if one.name == "shop")

    before = stored_bytes()
    damage(store, "UPDATE sources SET cleaned_content = 'flipped' WHERE page_key = :key")
    check_cache(store, filled, Settings(), fix=True)

    assert stored_bytes() * 3 == pytest.approx(before * 2, rel=0.02)


def test_an_original_that_is_not_kept_is_no_damage(store: Store, project: ProjectStore) -> None:
    project.write(record for record in a_page(1) if not isinstance(record, SourceRecord))

    assert check_cache(store, project, Settings()).damaged == {}


@pytest.mark.parametrize("form", ["markdown", "text", "html"])
def test_a_page_that_was_analysed_since_is_no_damage(store: Store, project: ProjectStore, form: str) -> None:
    """`scrapy dedup analyze` cuts what is stored anew; the hash is that of what was seen."""
    banner = "We use cookies to count visitors, and to remember what is in your basket."
    settings = Settings(output=form)  # type: ignore[arg-type]
    for name in range(6):
        url, html = a_url(name), html_page(name, banner)
        source = StoredSource(page_key(url), url, "", None, "html", html, None, None, None, NOON)
        reading = read_again(source, settings)
        assert reading is not None
        whole = reading.clean(Boilerplate(), settings).content
        records = [
            one for one in a_page(name, text=whole) if type(one).__name__ not in ("SourceRecord", "DecisionRecord")
        ]
        project.write([*records, SourceRecord(page_key(url), url, "www.example.com", "html", html, NOON)])
    with store.session() as session:
        DomainDedupService(session, settings).analyze_project(project.id)

    # With another form chosen since, too.
    assert check_cache(store, project, Settings()).damaged == {}
    page = project.page(page_key(a_url(1)))
    assert page is not None
    assert page.source is not None
    assert banner not in str(page.source.cleaned_content)


def test_progress_is_told(store: Store, filled: ProjectStore) -> None:
    told: list[int] = []
    tell: Callable[[int], None] = told.append

    check_cache(store, filled, Settings(), tell)

    assert sum(told) == 3
