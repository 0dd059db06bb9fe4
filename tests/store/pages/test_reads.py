from collections.abc import Iterator
from typing import Any

import pytest

from scrapy_dedup.store.pages.reads import DroppedPages, Reads, StoredLikeness
from scrapy_dedup.store.records.records import Record
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import a_chunk, a_chunks, a_crawled_url, a_decision, a_document, a_key, a_text_signature


@pytest.fixture
def reads(store, project) -> Iterator[Reads]:
    with store.session(read_only=True) as session:
        yield Reads(session, project.id)


def dropped(name: object, layer: str) -> list[Record]:
    """Return what a page leaves that stands for "a"."""
    kind = "canonical" if layer == "canonical" else None
    url = a_crawled_url(name, status="duplicate", document_key=a_key("a"), alias_kind=kind)
    return [a_decision(name, layer=layer, action="dropped"), url]


def test_pages_left_out_are_told_by_those_that_stand_for_them(reads, project):
    """A redirect is none of them, nor is what a layer cut; a chunk that its page leaves out does not count."""
    project.write([a_document("a", chars_in=100, chars_out=80), a_crawled_url("a")])
    project.write([a_chunks("a", a_chunk(0, "one"), a_chunk(1, "two"), a_chunk(2, "four", state="removed"))])
    project.write([a_document("b", chars_in=100, chars_out=60), a_crawled_url("b")])
    project.write([a_chunks("b", a_chunk(0, "two", state="removed", holder=a_key("a")), a_chunk(1, "three"))])
    project.write([*dropped("t1", "title"), *dropped("t2", "title"), *dropped("k", "canonical"), a_decision("t1")])
    project.write([a_crawled_url("r", status="alias", document_key=a_key("b"), alias_kind="redirect")])

    assert reads.dropped() == {
        "title": DroppedPages(pages=2, chars=160, chunks=4),
        "canonical": DroppedPages(pages=1, chars=80, chunks=2),
    }


def test_the_page_that_one_is_like_is_found(reads, project: ProjectStore):
    for name, keeper, layer in (("a", None, None), ("b", "a", None), ("c", "a", "title")):
        like: dict[str, Any] = {"keeper": a_key(keeper), "jaccard": 0.95} if keeper else {}
        project.write([a_text_signature(name, layer=layer, **like)])

    assert [reads.likeness(a_key(name)) for name in "abc"] == [
        None,
        StoredLikeness(a_key("a"), None, 0.95),
        StoredLikeness(a_key("a"), "title", 0.95),
    ]
