from collections.abc import Iterator
from datetime import timedelta

import pytest

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service import cache_upkeep as upkeep
from scrapy_dedup.service.cache_upkeep import Removal
from scrapy_dedup.service.explain import UrlError
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_reads import CacheRepairs
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import Server, postgresql
from tests.service.cached import a_page, an_alias, an_extraction, fill, text_of
from tests.service.stored_pages import DOMAIN, NOON, a_url

__all__ = ["postgresql"]

OTHER = "https://docs.other.example/news/1"


def held(project: ProjectStore) -> list[str]:
    return sorted(extraction.url for extraction in project.iterate_extractions())


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "sqlite":
        with Store.open("sqlite://") as opened:
            yield opened
        return
    server: Server = request.getfixturevalue("postgresql")
    with server.new_store() as url, Store.open(url) as opened:
        yield opened


@pytest.fixture
def filled(project: ProjectStore) -> ProjectStore:
    """Pages 0 to 2, an alias of page 0, and one page of another domain."""
    project.write([record for name in range(3) for record in a_page(name)])
    project.write([*a_page("other", url=OTHER), an_alias("old", 0)])
    return project


class TestInvalidate:
    @pytest.mark.parametrize(
        ("url", "left"),
        [
            pytest.param(a_url(1), [OTHER, a_url(0), a_url(2)], id="page"),
            pytest.param(f"{a_url(1)}?utm_source=x", [OTHER, a_url(0), a_url(2)], id="other-spelling"),
            pytest.param(a_url("old"), [OTHER, a_url(1), a_url(2)], id="alias"),
        ],
    )
    def test_page(self, filled: ProjectStore, url: str, left: list[str]) -> None:
        removal = upkeep.invalidate_urls(filled, [url], Settings(), dry_run=False)

        assert (removal.extractions, removal.unknown, removal.done) == (1, (), True)
        assert held(filled) == sorted(left)

    def test_unknown_pages_are_told_and_the_others_done(self, filled: ProjectStore) -> None:
        removal = upkeep.invalidate_urls(filled, [a_url(1), a_url(9)], Settings(), dry_run=False)

        assert (removal.extractions, removal.unknown) == (1, (a_url(9),))

    def test_no_url_stops_it_before_anything_is_deleted(self, filled: ProjectStore) -> None:
        with pytest.raises(UrlError):
            upkeep.invalidate_urls(filled, [a_url(1), "nonsense"], Settings(), dry_run=False)
        assert len(held(filled)) == 4

    @pytest.mark.parametrize(
        ("pattern", "left"),
        [
            pytest.param("other.example", [a_url(0), a_url(1), a_url(2)], id="domain-with-subdomains"),
            pytest.param(f"{DOMAIN}/1", [OTHER, a_url(0), a_url(2)], id="one-page"),
            pytest.param(f"https://{DOMAIN}/*", [OTHER], id="all-below"),
            pytest.param("*/news/*", [a_url(0), a_url(1), a_url(2)], id="in-the-middle"),
            pytest.param("nowhere.example", [OTHER, a_url(0), a_url(1), a_url(2)], id="none"),
        ],
    )
    def test_pattern(self, store: Store, filled: ProjectStore, pattern: str, left: list[str]) -> None:
        would = upkeep.invalidate_pattern(store, filled, pattern, dry_run=True)
        assert len(held(filled)) == 4

        did = upkeep.invalidate_pattern(store, filled, pattern, dry_run=False)

        assert held(filled) == sorted(left)
        assert did.extractions == would.extractions == 4 - len(left)

    def test_pattern_over_more_pages_than_are_read_at_once(self, store: Store, project: ProjectStore) -> None:
        project.write(an_extraction(a_url(f"{kind}/{name}"), "c") for name in range(600) for kind in ("a", "b"))

        assert upkeep.invalidate_pattern(store, project, "*/a/*", dry_run=False).extractions == 600
        assert len(held(project)) == 600

    @pytest.mark.parametrize(("domain", "left"), [(DOMAIN, [OTHER]), (None, [])])
    def test_domain_or_all(self, filled: ProjectStore, domain: str | None, left: list[str]) -> None:
        would = upkeep.invalidate(filled, domain, dry_run=True)
        assert len(held(filled)) == 4

        did = upkeep.invalidate(filled, domain, dry_run=False)

        assert held(filled) == left
        assert did == Removal(would.extractions, would.packed_bytes, done=True)


def test_expire_deletes_what_is_older(project: ProjectStore) -> None:
    project.write([record for name in range(3) for record in a_page(name, at=NOON + timedelta(days=name))])

    would = upkeep.expire(project, NOON + timedelta(days=1), dry_run=True)
    assert (would.extractions, would.done, len(held(project))) == (1, False, 3)

    assert upkeep.expire(project, NOON + timedelta(days=1), dry_run=False).extractions == 1
    assert held(project) == [a_url(1), a_url(2)]


def test_gc_deletes_what_no_crawl_would_use(project: ProjectStore) -> None:
    fill(project)

    would = upkeep.collect_garbage(project, dry_run=True)
    assert (would.extractions, len(held(project))) == (1, 5)

    assert upkeep.collect_garbage(project, dry_run=False).extractions == 1
    assert {one.content_hash for one in project.iterate_extractions()} == {
        an_extraction(a_url(name), text_of(name)).content_hash for name in range(3)
    }


class TestList:
    def test_is_in_the_order_of_domain_and_url(self, store: Store, filled: ProjectStore) -> None:
        listing = upkeep.list_pages(store, filled)

        assert [page.url for page in listing.pages] == [OTHER, a_url(0), a_url(1), a_url(2)]
        assert listing.total == 4

    def test_counts_what_is_current(self, store: Store, project: ProjectStore) -> None:
        fill(project)

        first = upkeep.list_pages(store, project).pages[0]

        assert (first.url, first.extractions, first.current) == (a_url(0), 3, 2)
        assert first.extracted_at == NOON + timedelta(hours=1)

    def test_may_be_limited(self, store: Store, filled: ProjectStore) -> None:
        listing = upkeep.list_pages(store, filled, DOMAIN, 2)

        assert ([page.url for page in listing.pages], listing.total) == ([a_url(0), a_url(1)], 3)


class TestShow:
    def test_page(self, store: Store, project: ProjectStore) -> None:
        fill(project)

        page = upkeep.find_page(store, project, a_url(0), Settings())

        assert page.is_known
        assert page.stands_for is None
        assert sorted(one.callback for one in page.extractions) == ["other", "parse", "parse"]
        assert page.metadata is not None
        assert page.metadata["decision_explanation"] == "page 0 is new"
        assert page.domain is not None
        assert page.domain.trust is not None

    def test_alias_shows_its_document(self, store: Store, filled: ProjectStore) -> None:
        page = upkeep.find_page(store, filled, a_url("old"), Settings())

        assert (page.stands_for, len(page.extractions)) == (a_url(0), 1)

    def test_unknown(self, store: Store, project: ProjectStore) -> None:
        assert not upkeep.find_page(store, project, a_url(9), Settings()).is_known


def test_what_is_damaged_is_dropped_on_every_database(store: Store, filled: ProjectStore) -> None:
    keys = [page_key(a_url(1))]
    with store.session() as session:
        repairs = CacheRepairs(session, filled.id)
        repairs.drop_originals(keys)
        repairs.drop_blocks(keys)
        repairs.drop_decisions(keys)
        session.commit()

    page = filled.page(keys[0])
    assert page is not None
    assert page.source is not None
    assert (page.source.content, page.source.cleaned_content) == (None, None)
    assert filled.page_states(keys)[keys[0]].blocks is None
    assert filled.decisions(keys[0]) == []
    assert len(filled.decisions(page_key(a_url(2)))) == 1
