"""The Scrapy pipeline: what it makes of a batch, and real crawls with the whole plugin into a vector store."""

# ruff: noqa: E402 - the library may not be there

import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st
from scrapy.utils.test import get_crawler

from scrapy_dedup.adapters.indexing import AdapterError, IndexedPage, feed_items, read, removed_sources, stored_items
from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.plugin.items import PageItem
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.adapters.builders import SITE, a_tombstone, a_url, an_item
from tests.adapters.extras import needs
from tests.store.builders import NOON, a_crawled_url, a_document, a_source
from tests.store.builders import a_url as a_stored_url

needs("langchain_core", "langchain")

from scrapy_dedup.adapters.indexing import Counts, IndexPipeline

ROOT = Path(__file__).parents[2]
MANUAL = {"DEDUP_ACK": "manual"}


class Refusing:
    """An index that cannot take some texts."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.calls = 0

    def begin(self) -> None:
        pass

    def write(self, pages: Sequence[IndexedPage]) -> Counts:
        self.calls += 1
        if any(page.text in self.refused for page in pages):
            raise ConnectionError("the model does not answer")
        return Counter(added=len(pages))


class Complete(IndexPipeline):
    acknowledge = print
    there = Refusing()
    disk_full = False

    def connect(self) -> Refusing:
        return self.there

    def save(self) -> None:
        if self.disk_full:
            raise OSError("no space left")


def written(there: Refusing, *items: Any, disk_full: bool = False) -> tuple[list[Any], Counts]:
    """Return which items are safe after a batch, and what was counted."""
    pipeline = Complete.from_crawler(get_crawler(settings_dict=MANUAL))
    pipeline.there, pipeline.disk_full = there, disk_full
    pipeline.open_spider()
    return pipeline._write([(item, read(item, pipeline._settings)) for item in items])


def items(count: int) -> list[Any]:
    return [an_item(number, f"Page {number}.") for number in range(count)]


def test_a_page_that_the_index_refuses_does_not_hold_back_those_of_its_batch(caplog):
    batch = [*items(5), an_item(9, None)]

    safe, counts = written(Refusing("Page 2."), *batch)

    assert sorted(item["url"] for item in safe) == sorted(item["url"] for item in batch if item is not batch[2])
    assert counts == {"added": 4, "failed": 1, "left/no_text": 1}
    assert "1 items could not be indexed" in caplog.text
    assert "the model does not answer" in caplog.text


def test_an_index_that_is_down_is_not_asked_for_each_page():
    """Each question may cost a timeout."""
    there = Refusing(*(f"Page {number}." for number in range(40)))

    assert written(there, *items(40)) == ([], {"failed": 40})
    assert there.calls == 1 + 3


def test_a_batch_that_could_not_be_saved_is_not_safe():
    assert written(Refusing(), *items(2), disk_full=True) == ([], {"failed": 2})


ALL = list(range(10))
CRAWLS: list[tuple[list[int], list[int]]] = [
    ([0, 1, 2, 4, 5, 6, 7, 8, 9], [0, 1, 2, 4, 5, 6, 7, 8, 9]),
    ([3], ALL),
    ([], ALL),
    ([5], ALL),
    ([0], [0, 1, 2, 3, 4, 5, 7, 8, 9]),
]
"""Pages that were embedded, and that are there then: a failed upsert; the same again; nothing new; a page changed; one
removed, and with it its link."""


@pytest.mark.crawl
def test_the_whole_plugin_and_langchain_agree_over_some_crawls(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.recrawling", str(tmp_path / "dedup.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    assert [(crawl["asked"], crawl["stored"]) for crawl in told] == CRAWLS
    assert told[0]["stats"] == {"dedup/index/added": 9, "dedup/index/failed": 1}
    assert told[0]["passed"] == 10
    # A slow index holds the crawl back, else what waits would have no bound: nothing passes it while it writes but
    # what was taken for the same batch of four, and is on its way.
    assert max(crawl["during_writes"] for crawl in told) < 4


@pytest.mark.parametrize(
    ("pipeline", "settings"),
    [
        pytest.param(Complete, {}, id="acknowledged-too-early"),
        pytest.param(IndexPipeline, MANUAL, id="never-acknowledged"),
    ],
)
def test_a_pipeline_that_could_not_acknowledge_stops_the_crawl(pipeline, settings):
    needed = r"needs DEDUP_ACK='manual', not '.*', and in its class acknowledge = scrapy_dedup\.acknowledge"

    with pytest.raises(AdapterError, match=needed):
        pipeline.from_crawler(get_crawler(settings_dict=settings))


def test_a_pipeline_that_does_not_connect_says_what_to_add():
    class Bare(IndexPipeline):
        acknowledge = print

    with pytest.raises(NotImplementedError, match=r"Bare\.connect: return a VectorIndex or an IngestionIndex"):
        Bare.from_crawler(get_crawler(settings_dict=MANUAL)).open_spider()


TRACKED = f"{SITE}/1?utm_source=mail"
ITEMS = [an_item(1), a_tombstone(2)]
LINES = "".join(f"{json.dumps(item)}\n" for item in ITEMS).encode()


def page_of(item: Any, **settings: Any) -> IndexedPage:
    page = read(item, Settings.read(settings))
    assert isinstance(page, IndexedPage)
    return page


class Declared(scrapy.Item):  # type: ignore[misc, unused-ignore]
    url = scrapy.Field()
    title = scrapy.Field()
    cleaned_content = scrapy.Field()
    dedup = scrapy.Field()


@dataclass
class WithoutReport:
    link: str
    cleaned_content: str


@pytest.mark.parametrize("make", [dict, Declared, PageItem])
def test_items_of_any_kind_give_the_same_page(make):
    page = page_of(make(**an_item()))

    assert page == page_of(an_item())
    assert (page.text, page.source) == ("What the page says.", a_url(1))
    assert page.metadata == {"page_id": page.id, "source": a_url(1), "domain": "www.example.com", "title": "Page 1"}
    assert page.visit["content_hash"] == content_hash("What the page says.").hex()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(an_item(), an_item(text="Other words."), True, id="content-changed"),
        pytest.param(an_item(1), an_item(TRACKED), True, id="other-spelling"),
        pytest.param(an_item(), an_item(run="run-2"), True, id="other-run"),
        pytest.param(an_item(), a_tombstone(), True, id="tombstone"),
        pytest.param(an_item(), an_item(project="news"), False, id="other-project"),
        pytest.param(an_item(1), an_item(2), False, id="other-page"),
        pytest.param(
            an_item("copy", page_key=page_key(a_url(1)).hex(), canonical=a_url(1)),
            a_tombstone("copy"),
            True,
            id="alias",
        ),
        pytest.param(
            an_item("copy", page_key=page_key(a_url(1)).hex(), canonical=a_url(1)), an_item(1), False, id="two"
        ),
    ],
)
def test_the_id_stands_for_project_and_page(one, other, same):
    assert (page_of(one).id == page_of(other).id) is same


def test_an_item_without_a_report_is_read_by_the_settings_of_its_crawl():
    rules = {"DEDUP_PROJECT": "shop", "DEDUP_URL_FIELD": "link", "DEDUP_URL": {"trailing_slash": True}}

    page = page_of(WithoutReport(f"{SITE}/a/", "Text."), **rules)

    assert (page.id, page.source, page.metadata["domain"]) == (page_of(an_item("a")).id, f"{SITE}/a", "www.example.com")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        pytest.param("text", "no_item", id="no-item"),
        pytest.param({"cleaned_content": "Text."}, "no_url", id="no-url"),
        pytest.param({"url": 7, "cleaned_content": "Text."}, "no_url", id="url-is-a-number"),
        pytest.param({"url": a_url(1), "html": "<p>x"}, "no_text", id="uncleaned"),
        pytest.param({"url": a_url(1), "cleaned_content": None}, "no_text", id="text-is-null"),
        pytest.param({"url": a_url(1), "dedup": {"left": "too_large"}}, "no_text", id="left-uncleaned"),
        pytest.param({"url": a_url(1), "dedup": "damaged"}, "no_text", id="report-is-text"),
    ],
)
def test_what_is_no_page_is_left_with_a_reason(item, reason):
    assert read(item, Settings()) == reason


def test_pages_that_are_removed_or_empty_name_their_source():
    items = [an_item(1), a_tombstone(2), an_item(3, text=" \n"), "text"]

    assert removed_sources(items) == [a_url(2), a_url(3)]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param(2.5, 2.5, id="number"),
        pytest.param(" red\0 ", "red", id="text"),
        pytest.param(date(2026, 3, 1), "2026-03-01", id="date"),
        pytest.param(datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01 00:00:00+00:00", id="time"),
        pytest.param(["a", "b"], '["a", "b"]', id="list"),
        pytest.param({"b": 1, "a": Decimal("2.50")}, '{"a": "2.50", "b": 1}', id="dict-in-any-order"),
        pytest.param("x" * 10_000, "x" * 300, id="longer-than-a-chunk"),
    ],
)
def test_author_becomes_flat_metadata(value, kept):
    assert page_of(an_item() | {"author": value}).metadata["author"] == kept


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored_afterwards(text):
    stored = page_of(an_item(text=text)).text

    assert "\0" not in stored
    assert stored.encode() is not None
    assert page_of(an_item(text=stored)).text == stored


@pytest.mark.parametrize(
    "feed",
    [
        pytest.param(LINES + b'{"url": "https://www.exam', id="cut-off"),
        pytest.param(LINES + b"[" * 100_000, id="too-deep"),
        pytest.param(LINES + b"\xff", id="no-text"),
        pytest.param(gzip.compress(LINES)[:-9], id="archive-cut-off"),
    ],
)
def test_a_damaged_feed_is_named_after_what_stands_before_the_damage(tmp_path, feed):
    path = tmp_path / "feed.jsonl"
    path.write_bytes(feed)
    items = feed_items(str(path))

    assert [next(items), next(items)] == ITEMS
    with pytest.raises(AdapterError, match=r"feed\.jsonl, near line [23]: damaged .* delete what a killed crawl left"):
        next(items)


class TestStoredItems:
    @staticmethod
    def put(project: ProjectStore, name: str, text: str | None = "What is left.", **fields: Any) -> None:
        shared = {"page_key": page_key(a_stored_url(name)), "url": a_stored_url(name)}
        alias_of = fields.pop("alias_of", name)
        project.write(
            [
                a_document(**shared, title=f"Page {name}", verdict="new", **fields),
                a_source(**shared, cleaned_content=text),
                a_crawled_url(**shared, document_key=page_key(a_stored_url(alias_of))),
            ]
        )

    def test_give_the_pages_of_the_crawl_s_items(self, store, project):
        self.put(project, "a")
        self.put(project, "copy", canonical_url=a_stored_url("canonical"))
        self.put(project, "gone", gone_at=NOON)
        self.put(project, "empty", text=None)
        self.put(project, "alias", alias_of="a")
        self.put(project, "never-acknowledged", status="processing")
        self.put(store.project("other"), "elsewhere")

        found = {item["dedup"]["url"]: read(item, Settings()) for item in stored_items(project)}

        assert list(found) == sorted(map(a_stored_url, ("a", "copy", "gone", "empty")), key=page_key)
        assert found.pop(a_stored_url("empty")) == "no_text"
        for name, page in found.items():
            text = "" if name == a_stored_url("gone") else "What is left."
            title = {"title": f"Page {name.rpartition('/')[2]}"}
            of_item = page_of(an_item(name, text) | title)
            assert isinstance(page, IndexedPage)
            assert (page.id, page.source, page.text, page.metadata) == (
                of_item.id,
                of_item.source,
                text,
                of_item.metadata,
            )
            assert (page.visit["fetched_at"], page.visit["last_run"]) == (str(NOON), None)

    def test_are_all_that_are_acknowledged_though_a_later_visit_failed(self, project):
        names = [f"p{number}" for number in range(230)]
        for name in names:
            self.put(project, name)
        project.write(
            [a_document(page_key=page_key(a_stored_url("p7")), url=a_stored_url("p7"), status="failed", error="503")]
        )

        urls = [item["dedup"]["url"] for item in stored_items(project) if item["cleaned_content"]]

        assert urls == sorted(map(a_stored_url, names), key=page_key)
