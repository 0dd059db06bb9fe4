import gzip
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.adapters.documents import AdapterError, Left, LeftReason, PageText, RemovedPage, read
from scrapy_dedup.adapters.inputs import feed_items, stored_pages
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.adapters.builders import a_tombstone, an_item
from tests.store.builders import NOON, a_crawled_url, a_document, a_source
from tests.store.builders import a_url as a_stored_url

ITEMS = [an_item(1), a_tombstone(2)]
LINES = "".join(f"{json.dumps(item)}\n" for item in ITEMS)


def fields_of(name: str) -> dict[str, Any]:
    """Return what ties the records of a page together: the page_key is that of its URL, as in a crawl."""
    return {"page_key": page_key(a_stored_url(name)), "url": a_stored_url(name)}


def put(project: ProjectStore, name: str, text: str | None = "What is left.", **fields: Any) -> None:
    project.write(
        [
            a_document(**fields_of(name), title=f"Page {name}", verdict="new", **fields),
            a_source(**fields_of(name), cleaned_content=text),
            a_crawled_url(**fields_of(name), document_key=page_key(a_stored_url(name))),
        ]
    )


@pytest.mark.parametrize("name", ["feed.jsonl", "feed.jsonl.gz"])
def test_a_feed_gives_its_items(tmp_path: Path, name: str):
    path = tmp_path / name
    data = f"\n{LINES}\n".encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    assert list(feed_items(path)) == ITEMS


@pytest.mark.parametrize(
    ("end", "message"),
    [
        pytest.param(b'{"url": "https://www.exam', "line 3: no JSON .* delete the line", id="cut-off"),
        pytest.param(b"[1]", "line 3: list, no item", id="no-object"),
        pytest.param(b"[" * 100_000, "line 3: no JSON", id="too-deep"),
        pytest.param(b"\xff", "line 3: no JSON", id="no-text"),
    ],
)
def test_a_damaged_line_is_named_after_what_stands_before_it(tmp_path: Path, end: bytes, message: str):
    path = tmp_path / "feed.jsonl"
    path.write_bytes(LINES.encode() + end)
    items = feed_items(str(path))

    assert [next(items), next(items)] == ITEMS
    with pytest.raises(AdapterError, match=message):
        next(items)


@pytest.mark.parametrize("damage", ["cut off", "no gzip"])
def test_a_damaged_archive_is_named(tmp_path: Path, damage: str):
    path = tmp_path / "feed.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode())[:-9] if damage == "cut off" else LINES.encode())

    with pytest.raises(AdapterError, match=re.escape(str(path)) + ".* Export it anew"):
        list(feed_items(path))


def test_the_store_gives_the_same_page_as_its_item(store: Store, project: ProjectStore):
    put(project, "a")
    item = an_item(a_stored_url("a"), "What is left.") | {"title": "Page a"}

    (page,) = stored_pages(store, project)

    from_item = read(item)
    assert isinstance(page, PageText)
    assert isinstance(from_item, PageText)
    assert (page.id, page.text, page.metadata) == (from_item.id, from_item.text, from_item.metadata)
    assert page.visit == {
        "url": a_stored_url("a"),
        "content_hash": page.content_hash,
        "last_run": None,
        "verdict": "new",
        "last_seen_at": NOON.isoformat(),
        "fetched_at": NOON.isoformat(),
    }


def test_the_store_gives_removed_pages_as_removed(store: Store, project: ProjectStore):
    put(project, "a", gone_at=NOON)

    (removed,) = stored_pages(store, project)

    from_item = read(an_item(a_stored_url("a"), verdict="removed"))
    assert isinstance(removed, RemovedPage)
    assert isinstance(from_item, RemovedPage)
    assert (removed.id, removed.source) == (from_item.id, from_item.source)


def test_a_stored_page_that_names_a_canonical_one_is_the_same_as_its_item(store: Store, project: ProjectStore):
    put(project, "copy", canonical_url=a_stored_url("canonical"))
    named = {"page_key": page_key(a_stored_url("canonical")).hex(), "canonical": a_stored_url("canonical")}

    (page,) = stored_pages(store, project)

    from_item = read(an_item(a_stored_url("copy"), **named))
    assert isinstance(page, PageText)
    assert isinstance(from_item, PageText)
    assert (page.id, page.source) == (from_item.id, from_item.source)


def test_stored_pages_without_text_of_their_own_are_left_with_a_reason(store: Store, project: ProjectStore):
    put(project, "empty", text=None)
    project.write([a_document(**fields_of("original-dropped"))])
    put(project, "alias")
    project.write([a_crawled_url(**fields_of("alias"), status="alias", document_key=page_key(a_stored_url("b")))])
    project.write([a_document(**fields_of("never-acknowledged"), status="processing")])

    reasons = [entry.reason for entry in stored_pages(store, project) if isinstance(entry, Left)]

    assert sorted(reasons) == [LeftReason.ALIAS, LeftReason.NO_TEXT, LeftReason.NO_TEXT]


def test_a_failed_visit_keeps_the_last_good_version(store: Store, project: ProjectStore):
    put(project, "a")
    project.write([a_document(**fields_of("a"), status="failed", error="503")])

    assert [entry.text for entry in stored_pages(store, project) if isinstance(entry, PageText)] == ["What is left."]


def test_all_pages_of_one_project_come_in_the_order_of_their_keys(store: Store, project: ProjectStore):
    names = [f"p{number}" for number in range(230)]
    for name in names:
        put(project, name, updated_at=NOON + timedelta(seconds=1))
    put(store.project("other"), "elsewhere")

    urls = [entry.source for entry in stored_pages(store, project) if isinstance(entry, PageText)]

    assert urls == sorted(map(a_stored_url, names), key=page_key)
