from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

import pytest

from scrapy_dedup.core.chunks.chunks import ChunkState, StoredChunk
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.pages.reads import DroppedPages, Reads, StoredLikeness
from scrapy_dedup.store.records.records import (
    ChunksRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    SignatureRecord,
)
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url

OTHER = "other.example"


def key(name: object) -> bytes:
    return page_key(a_url(name))


def a_chunk(position: int, text: str, state: ChunkState = "added", holder: bytes | None = None) -> StoredChunk:
    hashed = text.encode().ljust(16, b".")
    return StoredChunk(
        position, f"{position:016x}", hashed, state, "prose", len(text), len(text) // 2, text, holder=holder
    )


def put(project: ProjectStore, name: object, *chunks: StoredChunk, chars_out: int = 60, domain: str = DOMAIN) -> None:
    url = a_url(name)
    document = DocumentRecord(page_key(url), url, domain, "completed", NOON, chars_in=100, chars_out=chars_out)
    crawled = CrawledUrlRecord(page_key(url), url, domain, "crawled", NOON, document_key=page_key(url))
    project.write([document, crawled, ChunksRecord(page_key(url), chunks)])


def drop(project: ProjectStore, name: object, keeper: object, layer: str, minutes: int = 0) -> None:
    at = NOON + timedelta(minutes=minutes)
    kind: Literal["canonical"] | None = "canonical" if layer == "canonical" else None
    crawled = CrawledUrlRecord(
        key(name), a_url(name), DOMAIN, "duplicate", at, document_key=key(keeper), alias_kind=kind
    )
    project.write([DecisionRecord(key(name), layer, "dropped", "the same", at), crawled])


@pytest.fixture
def filled(project) -> ProjectStore:
    """Two pages of one domain that share a chunk, one of another; four addresses that stand for the first."""
    put(project, "a", a_chunk(0, "one"), a_chunk(1, "two"), chars_out=80)
    put(project, "b", a_chunk(0, "two", "removed", key("a")), a_chunk(1, "three"))
    put(project, "c", a_chunk(0, "four", "removed"), domain=OTHER)
    for name, layer in (("t1", "title"), ("t2", "title"), ("k", "canonical")):
        drop(project, name, "a", layer)
    moved = CrawledUrlRecord(key("r"), a_url("r"), DOMAIN, "alias", NOON, document_key=key("b"), alias_kind="redirect")
    project.write([moved])
    return project


@pytest.fixture
def reads(store, project) -> Iterator[Reads]:
    with store.session(read_only=True) as session:
        yield Reads(session, project.id)


@pytest.mark.usefixtures("filled")
def test_pages_left_out_are_told_by_those_that_stand_for_them(reads):
    assert reads.dropped() == {
        "title": DroppedPages(pages=2, chars=160, chunks=4),
        "canonical": DroppedPages(pages=1, chars=80, chunks=2),
    }


def test_the_page_that_one_is_like_is_found(reads, project):
    for name, keeper, layer in (("a", None, None), ("b", "a", None), ("c", "a", "title")):
        like: dict[str, Any] = {"keeper": key(keeper), "jaccard": 0.95} if keeper else {}
        project.write([SignatureRecord(key(name), DOMAIN, key(name), layer=layer, **like)])

    assert [reads.likeness(key(name)) for name in "abc"] == [
        None,
        StoredLikeness(key("a"), None, 0.95),
        StoredLikeness(key("a"), "title", 0.95),
    ]
