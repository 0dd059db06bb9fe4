"""Pages of earlier crawls in the store: which are taken, which stay, and which items a page has."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.links import links_hash
from scrapy_dedup.core.memo import memo_key
from scrapy_dedup.core.passages import page_keys
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.seeding import Outcome, Seeding
from scrapy_dedup.service.seeding_pages import Found, FoundPage, NoPage, Unreadable
from scrapy_dedup.service.seeding_records import NO_CONTENT
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import unpack_fingerprints
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.records import CrawledUrlRecord, ExtractionRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredSource
from scrapy_dedup.store.stored_visits import StoredState
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import Server, postgresql
from tests.service.stored_pages import BANNER, DOMAIN, NOON, a_url, html_page, unique

__all__ = ["postgresql"]

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def on_server(postgresql: Server) -> Iterator[Store]:
    with postgresql.database() as url, Store.open(url) as store:
        yield store


@pytest.fixture(params=["sqlite", "postgresql"])
def project(request: pytest.FixtureRequest) -> Iterator[ProjectStore]:
    """A project of its own for each test."""
    if request.param == "postgresql":
        store: Store = request.getfixturevalue("on_server")
        yield store.project(request.node.name)
        return
    with Store.open("sqlite://") as store:
        yield store.project("shop")


@pytest.fixture
def small() -> Iterator[ProjectStore]:
    """A project in memory, for what depends on no database."""
    with Store.open("sqlite://") as store:
        yield store.project("shop")


def a_page(name: object = 1, hours: float = 0, **fields: Any) -> FoundPage:
    return FoundPage(f"line {name}", a_url(name), NOON + hours * HOUR, **fields)


def whole(name: object = 1, hours: float = 0, *lines: str, **fields: Any) -> FoundPage:
    return a_page(name, hours, html=html_page(name, *lines), **fields)


def seed(project: ProjectStore | None, *found: Found, dry_run: bool = False, **settings: Any) -> Outcome:
    seeding = Seeding(project, Settings(**settings), dry_run=dry_run)
    seeding.take(found)
    return seeding.outcome


def state_of(project: ProjectStore, name: object = 1) -> StoredState:
    return project.page_states([page_key(a_url(name))])[page_key(a_url(name))]


def source_of(project: ProjectStore, name: object = 1) -> StoredSource | None:
    page = project.page(page_key(a_url(name)))
    assert page is not None
    return page.source


def outcome_of(project: ProjectStore, name: object = 1) -> ExtractionRecord:
    """Return what a crawl finds of a page: the seeded outcome of the content that its state names."""
    content = state_of(project, name).content_hash or NO_CONTENT
    found = project.extraction(memo_key(page_key(a_url(name)), content, "", {}, ""))
    assert found is not None
    return found


def items_of(project: ProjectStore, name: object = 1) -> list[Any] | None:
    items = outcome_of(project, name).items
    return None if items is None else [item["fields"] for item in items]


class TestWhatIsWritten:
    def test_a_page_with_html_can_be_compared_by_the_next_crawl(self, project: ProjectStore) -> None:
        html = html_page(1, BANNER, title="Tea")
        item = {"url": a_url(1), "html": html, "price": 3}

        outcome = seed(project, a_page(html=html, item=item, etag='"a"', last_modified="x", content_type="text/html"))

        page = parse_page(html)
        assert isinstance(page, Page)
        state, source = state_of(project), source_of(project)
        assert source is not None
        assert (outcome.read, outcome.seeded, outcome.comparable) == (1, 1, 1)
        assert (source.field, source.content, source.title, source.content_type) == ("html", html, "Tea", "text/html")
        assert source.cleaned_content is not None
        assert BANNER in source.cleaned_content
        assert state.content_hash == content_hash(source.cleaned_content)
        assert state.blocks is not None
        assert unpack_fingerprints(state.blocks) == page_keys(page)
        assert state.links_hash == links_hash(page.links)
        assert (state.etag, state.last_modified, state.title, state.domain) == ('"a"', "x", "Tea", DOMAIN)
        assert state.validated_at == state.first_seen_at == state.last_seen_at == state.last_changed_at == NOON
        assert source.fetched_at == state.last_changed_at
        assert (state.status, state.verdict, state.visits_count, state.http_status) == ("completed", "new", 1, 200)
        assert state.last_crawled_at == NOON

    def test_its_outcome_is_the_item_and_links_that_nobody_knows(self, project: ProjectStore) -> None:
        item = {"url": a_url(1), "html": html_page(1), "tags": ["a", {"b": None}], "$": 1}

        seed(project, whole(item=item))

        found = outcome_of(project)
        assert list(found.requests) == [{"unkeepable": "seeded"}]
        assert (found.callback, found.cb_kwargs, found.dedup_version) == ("", {}, None)
        assert found.items is not None
        (kept,) = found.items
        assert kept["class"] == "dict"
        assert found.content_hash == state_of(project).content_hash
        assert found.created_at == NOON

    @pytest.mark.parametrize(
        ("fields", "source"),
        [
            pytest.param({}, None, id="a-url-alone"),
            pytest.param({"content": "What was read."}, ("content", "What was read."), id="a-text"),
            pytest.param({"html": "<p>A part</p>"}, ("item_html", "<p>A part</p>"), id="a-part-of-a-page"),
        ],
    )
    def test_without_the_whole_html_the_first_crawl_is_the_baseline(
        self, project: ProjectStore, fields: dict[str, Any], source: tuple[str, str] | None
    ) -> None:
        outcome = seed(project, a_page(item={"a": 1}, **fields))

        state, stored = state_of(project), source_of(project)
        assert (state.content_hash, state.blocks, state.links_hash) == (None, None, None)
        assert ((stored.field, stored.content) if stored else None) == source
        assert (outcome.seeded, outcome.comparable) == (1, 0)
        assert items_of(project) == [{"a": 1}]

    def test_without_an_item_none_is_replayed(self, project: ProjectStore) -> None:
        seed(project, whole(1), a_page(2))

        assert items_of(project, 1) is None
        assert items_of(project, 2) is None

    def test_nothing_is_learned_and_no_change_is_told(self, project: ProjectStore) -> None:
        seed(project, *(whole(name, 0, BANNER) for name in range(20)))

        assert not project.is_known(DOMAIN)
        assert list(project.changes(NOON - HOUR)) == []

    def test_originals_are_kept_as_the_settings_say(self) -> None:
        with Store.open("sqlite://") as store:
            project = store.project("shop", KeepPolicy(pages="none"))

            seed(project, whole())

            assert source_of(project) is None
            assert state_of(project).blocks is not None

    def test_the_settings_say_what_one_page_and_one_text_is(self, small: ProjectStore) -> None:
        seed(small, whole("a/"), whole("a"), url_trailing_slash=True, output="text", source_group="tea")

        (key,) = small.page_states([page_key(a_url("a")), page_key(a_url("a/"))])
        page = small.page(key)
        assert page is not None
        assert page.source is not None
        assert page.source.source_group == "tea"
        assert page.source.cleaned_content == unique("a")

    def test_an_item_names_its_group(self, small: ProjectStore) -> None:
        seed(small, whole(item={"source_group": "coffee"}), source_group="tea")

        source = source_of(small)
        assert source is not None
        assert source.source_group == "coffee"


class TestWhatIsKnown:
    @pytest.mark.parametrize(
        ("before", "after", "taken"),
        [
            pytest.param(whole(1, 0, "old"), whole(1, 1, "new"), True, id="a-later-version"),
            pytest.param(whole(1, 1, "old"), whole(1, 0, "new"), False, id="an-earlier-version"),
            pytest.param(whole(1, 0, "old"), whole(1, 0, "new"), True, id="the-later-line-of-one-time"),
            pytest.param(whole(1, 0), whole(1, 1), False, id="the-same-content"),
            pytest.param(whole(1, 0), a_page(1, 1), False, id="a-url-is-less-than-a-page"),
            pytest.param(whole(1, 0), a_page(1, 1, content="text"), False, id="a-text-is-less-than-a-page"),
            pytest.param(a_page(1, 0), a_page(1, 1), False, id="a-url-twice"),
            pytest.param(a_page(1, 1), whole(1, 0), True, id="an-earlier-page-is-more-than-a-url"),
            pytest.param(a_page(1, 0), a_page(1, 1, content="text"), True, id="a-text-is-more-than-a-url"),
            pytest.param(a_page(1, 0, content="a"), a_page(1, 0, content="b"), False, id="one-text-of-one-time"),
        ],
    )
    @pytest.mark.parametrize("together", [True, False])
    def test_the_later_and_the_better_one_stays(
        self, project: ProjectStore, before: FoundPage, after: FoundPage, *, taken: bool, together: bool
    ) -> None:
        if together:
            assert seed(project, before, after).seeded == 1 + taken
        else:
            seed(project, before)
            assert seed(project, after).seeded == taken

        last = after if taken else before
        source = source_of(project)
        assert (source.content if source else None) == (last.html or last.content)
        assert state_of(project).last_seen_at == last.at

    def test_a_newer_visit_of_a_crawl_stays(self, project: ProjectStore) -> None:
        seed(project, whole(1, 5, "seen by a crawl"))
        before = state_of(project)

        outcome = seed(project, whole(1, 0, "seen earlier", item={"a": 1}))

        assert (outcome.seeded, outcome.known) == (0, 1)
        assert state_of(project) == before
        assert items_of(project) is None

    def test_a_later_version_counts_as_a_change(self, project: ProjectStore) -> None:
        seed(project, whole(1, 0, "old"))

        seed(project, whole(1, 1, "new"))

        state = state_of(project)
        assert (state.visits_count, state.changes_count) == (2, 1)
        assert (state.first_seen_at, state.last_seen_at) == (NOON, NOON + HOUR)

    def test_another_address_of_a_page_stays_one(self, project: ProjectStore) -> None:
        seed(project, whole(1))
        alias, key = page_key(a_url("old")), page_key(a_url(1))
        record = CrawledUrlRecord(alias, a_url("old"), DOMAIN, "alias", NOON, document_key=key, alias_kind="redirect")
        project.write([record])

        outcome = seed(project, whole("old", 9))

        assert outcome.known == 1
        assert project.page_states([alias]) == {}
        assert project.document_keys([alias]) == {alias: key}

    def test_the_same_file_twice_is_once(self, project: ProjectStore) -> None:
        pages = [whole(1, 0, item={"a": 1}), whole(1, 0, item={"a": 2}), a_page(2, item={"b": 1}), a_page(3)]
        seed(project, *pages)
        before = [(state_of(project, name), outcome_of(project, name)) for name in (1, 2, 3)]

        outcome = seed(project, *pages)

        assert (outcome.seeded, outcome.joined, outcome.known) == (0, 0, 4)
        assert [(state_of(project, name), outcome_of(project, name)) for name in (1, 2, 3)] == before


class TestItems:
    def test_a_page_gave_several(self, project: ProjectStore) -> None:
        outcome = seed(project, *(whole(item={"n": n}) for n in (1, 2, 2, 3)))

        assert items_of(project) == [{"n": 1}, {"n": 2}, {"n": 3}]
        assert (outcome.seeded, outcome.joined, outcome.known) == (1, 2, 1)

    def test_they_may_stand_far_apart(self, project: ProjectStore) -> None:
        between = [a_page(f"other {number}") for number in range(450)]

        outcome = seed(project, a_page(item={"n": 1}), *between, a_page(item={"n": 2}))

        assert items_of(project) == [{"n": 1}, {"n": 2}]
        assert (outcome.seeded, outcome.joined) == (451, 1)

    def test_those_of_a_later_crawl_take_the_place_of_earlier_ones(self, project: ProjectStore) -> None:
        seed(project, a_page(1, 0, item={"week": 1, "n": 1}), a_page(1, 0, item={"week": 1, "n": 2}))

        seed(project, a_page(1, 9, item={"week": 2}), a_page(1, 5, item={"week": 0}))

        assert items_of(project) == [{"week": 2}]
        assert outcome_of(project).created_at == NOON + 9 * HOUR

    @pytest.mark.parametrize("together", [True, False])
    def test_a_feed_gives_the_pages_of_a_cache_their_items(self, project: ProjectStore, *, together: bool) -> None:
        cached, item = whole(1, 0), a_page(1, 3, item={"n": 1})
        outcomes = [seed(project, cached, item)] if together else [seed(project, cached), seed(project, item)]

        assert items_of(project) == [{"n": 1}]
        assert (outcomes[0].seeded, outcomes[-1].joined) == (1, 1)
        assert state_of(project).blocks is not None

    @pytest.mark.parametrize("together", [True, False])
    def test_a_cache_gives_the_items_of_a_feed_their_pages(self, project: ProjectStore, *, together: bool) -> None:
        item, cached = a_page(1, 3, item={"n": 1}), whole(1, 0)
        seed(project, item, cached) if together else (seed(project, item), seed(project, cached))

        assert items_of(project) == [{"n": 1}]
        assert state_of(project).blocks is not None

    def test_what_cannot_be_kept_is_left_and_counted(self, small: ProjectStore) -> None:
        deep: Any = 1
        for _ in range(100):
            deep = [deep]

        outcome = seed(small, a_page(item={"deep": deep}))

        assert (outcome.seeded, outcome.items_left) == (1, 1)
        assert items_of(small) is None


class TestCounts:
    def test_everything_that_is_read_is_counted_once(self, small: ProjectStore) -> None:
        bad: list[Found] = [Unreadable(f"line {number}", "no JSON") for number in range(8)]
        found: list[Found] = [whole(1), whole(1), a_page(2), NoPage("x", "status 404"), *bad]

        outcome = seed(small, *found, FoundPage("line 9", "mailto:a@b.c", NOON))

        assert outcome.read == 13
        parts = (outcome.seeded, outcome.joined, outcome.known, outcome.no_page, outcome.unreadable)
        assert parts == (2, 0, 1, 1, 9)
        assert [one.where for one in outcome.examples] == [f"line {number}" for number in range(5)]

    @pytest.mark.parametrize(
        ("page", "reason"),
        [
            pytest.param(a_page(html="<html>" + "<div>" * 20_000), "to be parsed", id="too-deep"),
            pytest.param(a_page(html="<html>" + "a" * 2_000), "to be parsed", id="too-large"),
            pytest.param(FoundPage("x", "javascript:alert(1)", NOON), "needs http", id="no-page"),
            pytest.param(FoundPage("x", "http://\ud800", NOON), "needs http", id="lone-surrogate"),
        ],
    )
    def test_hostile_pages_are_told_and_nothing_ends(self, small: ProjectStore, page: FoundPage, reason: str) -> None:
        outcome = seed(small, page, whole(2), max_page_bytes=1_000)

        assert (outcome.seeded, outcome.unreadable) == (1, 1)
        assert reason in outcome.examples[0].reason

    def test_characters_that_no_database_holds_do_not_end_it(self, project: ProjectStore) -> None:
        html = "<html><title>a\ud800\0b</title><p>c\ud800\0d</p>"

        outcome = seed(project, a_page(html=html, item={"x": "\ud800\0", "url": a_url(1)}, etag="\0"))

        assert outcome.seeded == 1
        source = source_of(project)
        assert source is not None
        assert source.content == html
        assert outcome_of(project).items is not None


SERIES: list[list[Found]] = [
    [whole(1, 0, item={"n": 1}), whole(1, 0, item={"n": 2}), whole(1, 0, item={"n": 2})],
    [a_page(1, item={"n": 1}), whole(1, 5), whole(1, 6, "new", item={"n": 3}), a_page(1, 2, item={"n": 4})],
    [whole(1, 5), whole(1, 0), a_page(2), NoPage("x", "y"), Unreadable("x", "y"), a_page(2, 1)],
    [whole("stored", 0, "new"), whole("stored", 9, "new", item={"n": 1}), a_page("with item", 3, item={"n": 2})],
]


@pytest.mark.parametrize("found", SERIES)
@pytest.mark.parametrize("repeat", [1, 120])
def test_a_dry_run_says_what_a_real_one_does_and_writes_nothing(
    small: ProjectStore, found: list[Found], repeat: int
) -> None:
    seed(small, whole("stored", 5, "old"), a_page("with item", 3, item={"n": 1}))
    before = _everything(small)

    told = seed(small, *found * repeat, dry_run=True)

    assert _everything(small) == before
    assert told == seed(small, *found * repeat)


def test_a_dry_run_needs_no_project() -> None:
    assert seed(None, whole(1), whole(1, 0, item={"n": 1}), whole(1, 0, item={"n": 1}), dry_run=True) == Outcome(
        read=3, seeded=1, joined=1, known=1, comparable=1
    )


def test_a_reader_that_fails_leaves_what_it_read_before(small: ProjectStore) -> None:
    def reader() -> Iterator[Found]:
        yield from (a_page(number) for number in range(450))
        raise OSError(5, "Input/output error")

    seeding = Seeding(small, Settings(), dry_run=False)
    with pytest.raises(OSError, match="Input/output"):
        seeding.take(reader())

    assert seeding.outcome.seeded == 400
    assert len(small.page_states([page_key(a_url(number)) for number in range(450)])) == 400


def _everything(project: ProjectStore) -> list[Any]:
    names: list[Callable[[], Any]] = [
        lambda: project.page_states([page_key(a_url(name)) for name in (1, 2, "stored", "with item")]),
        lambda: list(project.iterate_extractions()),
    ]
    return [ask() for ask in names]
