from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cache.content_index import ContentIndexError, ContentIndexManager
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.repositories import ProjectRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.cached import a_page, an_extraction, text_of
from tests.service.stored_pages import NOON, a_url

TEXT = "What the page says.\nIn two lines."
FOUND = {"url": a_url(1), "content": ["one", "two"], "price": Decimal("9.90"), "at": NOON}


@pytest.fixture
def index(store, project) -> ContentIndexManager:
    return ContentIndexManager(store, project)


@pytest.fixture
def saved(index) -> ContentIndexManager:
    """An index with one URL."""
    index.update_url_record(a_url(1), index.calculate_content_hash(TEXT), FOUND, {"title": "One", "depth": 2})
    index.save_index()
    return index


def again(store: Store, project: ProjectStore) -> ContentIndexManager:
    return ContentIndexManager(store, project)


class TestHash:
    def test_is_the_sha256_of_the_normalised_content(self, index):
        expected = sha256(b"What the page says. In two lines.").hexdigest()

        assert index.calculate_content_hash(f"  {TEXT}\t\n") == expected

    def test_may_be_of_any_text(self, index):
        assert len(index.calculate_content_hash("lone \ud800 surrogate \0")) == 64


class TestFlow:
    """As the seed draws it: the expensive call is made for new and for changed content only."""

    @pytest.mark.parametrize("saving", [True, False], ids=["saved", "not-yet-saved"])
    def test_a_second_crawl_pays_for_what_changed(self, store, project, *, saving):
        paid: list[str] = []
        index = ContentIndexManager(store, project)

        def crawl(pages: dict[str, str]) -> dict[str, Any]:
            found = {}
            for url, cleaned in pages.items():
                new_hash = index.calculate_content_hash(cleaned)
                if index.is_content_changed(url, new_hash):
                    paid.append(url)
                    index.update_url_record(url, new_hash, {"words": len(cleaned.split())}, {"title": url})
                found[url] = index.get_cached_extraction(url)
            if saving:
                index.save_index()
                index.load_index()
            return found

        first = crawl({a_url(1): "a b", a_url(2): "a b c"})
        second = crawl({a_url(1): "a  b", a_url(2): "a b d e", a_url(3): "x"})

        assert first == {a_url(1): {"words": 2}, a_url(2): {"words": 3}}
        assert second == {a_url(1): {"words": 2}, a_url(2): {"words": 4}, a_url(3): {"words": 1}}
        assert paid == [a_url(1), a_url(2), a_url(2), a_url(3)]


class TestRecord:
    def test_has_the_seeds_keys(self, saved, store, project):
        record = again(store, project).get_url_record(a_url(1))

        name = sha256(a_url(1).encode()).hexdigest()[:12]
        assert datetime.fromisoformat(record["last_extracted"]) <= datetime.now(UTC)
        assert record == {
            "last_extracted": record["last_extracted"],
            "content_hash": saved.calculate_content_hash(TEXT),
            "extraction_file": f"extractions/{name}.json",
            "metadata_file": f"metadata/{name}_meta.json",
            "url_hash": name,
        }

    def test_is_found_by_every_spelling_of_the_url(self, saved):
        assert saved.get_url_record(f"{a_url(1)}?utm_source=x#top") is not None

    def test_there_is_none_of_a_url_that_was_never_met(self, index):
        assert index.get_url_record(a_url(9)) is None
        assert index.get_cached_extraction(a_url(9)) is None
        assert index.is_content_changed(a_url(9), "00" * 32)


class TestSaving:
    def test_is_one_transaction_for_all_updates(self, store, project):
        index = again(store, project)
        for name in range(3):
            index.update_url_record(a_url(name), index.calculate_content_hash(str(name)), {"n": name})

        assert list(again(store, project).load_index()) == []
        assert index.save_index() == 3
        assert len(list(again(store, project).load_index())) == 3
        assert index.save_index() == 0

    def test_that_fails_keeps_the_updates(self, index, store, project):
        index.update_url_record(a_url(1), index.calculate_content_hash(TEXT), {})
        with store.session() as session:
            ProjectRepository(session).delete(project.id)
            session.commit()

        with pytest.raises(StoreError, match="was deleted"):
            index.save_index()
        assert index.get_url_record(a_url(1)) is not None

    def test_loading_again_gives_up_what_was_not_saved(self, saved):
        saved.update_url_record(a_url(2), saved.calculate_content_hash("x"), {})

        loaded = dict(saved.load_index())

        assert loaded == {a_url(1): saved.get_url_record(a_url(1))}
        assert loaded[a_url(1)]["content_hash"] == saved.calculate_content_hash(TEXT)
        assert saved.get_url_record(a_url(2)) is None


class TestExtraction:
    @pytest.mark.usefixtures("saved")
    def test_comes_back_with_its_types(self, store, project):
        assert again(store, project).get_cached_extraction(a_url(1)) == FOUND

    def test_of_a_crawl_comes_with_lines_and_items(self, index, project):
        project.write(a_page(1))

        found = index.get_cached_extraction(a_url(1))

        assert "\n".join(found["content"]) == text_of(1)
        assert found["items"] == [{"url": a_url(1), "price": Decimal("9.90")}]
        assert (found["url"], found["extraction_timestamp"]) == (a_url(1), NOON.isoformat())

    def test_of_an_older_content_does_not_count(self, index, project):
        project.write(record for record in a_page(1) if type(record).__name__ != "ExtractionRecord")
        project.write([an_extraction(a_url(1), "older")])

        assert index.get_cached_extraction(a_url(1)) is None


class TestUpdate:
    @pytest.mark.usefixtures("saved")
    def test_is_a_page_that_a_crawl_takes_for_seen(self, project):
        key = page_key(a_url(1))

        state = project.page_states([key])[key]
        assert (state.status, state.title, state.depth, state.visits_count) == ("completed", "One", 2, 1)
        (extraction,) = project.extractions_of(key)
        assert (extraction.callback, extraction.requests) == ("", [{"unkeepable": "what the index does not know"}])
        assert extraction.memo_key in state.memo_keys
        assert key in project.document_keys([key])

    def test_of_a_crawled_page_with_the_same_content_leaves_its_state(self, index, project):
        project.write(a_page(1))
        key = page_key(a_url(1))
        before = project.page_states([key])[key]

        index.update_url_record(a_url(1), index.calculate_content_hash(text_of(1)), {"n": 1})
        index.save_index()

        after = project.page_states([key])[key]
        same = replace(after, last_seen_at=before.last_seen_at, memo_keys=before.memo_keys, status="completed")
        assert same == before

    def test_of_a_crawled_page_with_other_content_forgets_what_belonged_to_the_old(self, index, project):
        project.write(a_page(1))
        key = page_key(a_url(1))

        index.update_url_record(a_url(1), index.calculate_content_hash("new"), {"n": 1})
        index.save_index()

        state = project.page_states([key])[key]
        assert (state.etag, state.blocks) == (None, None)
        assert (state.visits_count, state.changes_count, state.verdict) == (3, 2, "changed")
        assert state.first_seen_at == NOON - timedelta(days=1)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(("00", {}, {}), "64 hexadecimal digits", id="hash"),
            pytest.param(("x" * 64, {}, {}), "64 hexadecimal digits", id="digits"),
            pytest.param(("00" * 32, {"a": object()}, {}), "use plain values", id="value"),
            pytest.param(("00" * 32, {}, {"crawl_timestamp": "soon"}), "needs ISO 8601", id="time"),
        ],
    )
    def test_that_cannot_be_kept_is_refused(self, index, arguments, words):
        with pytest.raises(ContentIndexError, match=words):
            index.update_url_record(a_url(1), *arguments)
        assert index.get_url_record(a_url(1)) is None


def test_the_index_is_read_a_part_at_a_time(store, project):
    project.write([record for name in range(25) for record in a_page(name)])

    assert sorted(url for url, _ in again(store, project).load_index()) == sorted(a_url(name) for name in range(25))
