import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, Literal, Protocol

import pytest

from scrapy_dedup.core.runs.totals import LedgerDomain
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.pages.ledger_reads import DroppedPages, LedgerReads, StoredAlias, StoredLikeness
from scrapy_dedup.store.records.page_records import ChunksRecord, ChunkState, StoredChunk
from scrapy_dedup.store.records.records import CrawledUrlRecord, DecisionRecord, DocumentRecord
from scrapy_dedup.store.records.signatures import SignatureRecord
from scrapy_dedup.store.store import Store
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
def filled(project: ProjectStore) -> ProjectStore:
    """Two pages of one domain that share a chunk, one of another; four addresses that stand for the first."""
    put(project, "a", a_chunk(0, "one"), a_chunk(1, "two"), chars_out=80)
    put(project, "b", a_chunk(0, "two", "removed", key("a")), a_chunk(1, "three"))
    put(project, "c", a_chunk(0, "four", "removed"), domain=OTHER)
    for name, layer in (("t1", "title"), ("t2", "title"), ("k", "canonical")):
        drop(project, name, "a", layer)
    moved = CrawledUrlRecord(key("r"), a_url("r"), DOMAIN, "alias", NOON, document_key=key("b"), alias_kind="redirect")
    project.write([moved])
    return project


class Reads(Protocol):
    """Gives what is read of the project, or of one run."""

    def __call__(self, run: uuid.UUID | None = None) -> LedgerReads: ...


@pytest.fixture
def reads(store: Store, project: ProjectStore) -> Iterator[Reads]:
    with ExitStack() as sessions:
        yield lambda run=None: LedgerReads(sessions.enter_context(store.session(read_only=True)), project.id, run)


@pytest.mark.usefixtures("filled")
def test_pages_left_out_are_told_by_those_that_stand_for_them(reads: Reads) -> None:
    assert reads().dropped() == {
        "title": DroppedPages(pages=2, chars=160, chunks=4),
        "canonical": DroppedPages(pages=1, chars=80, chunks=2),
    }


def test_of_a_run_is_what_it_dropped(reads: Reads, filled: ProjectStore) -> None:
    run = filled.begin_run(spider="site", jobdir=None, started_at=NOON)
    drop(filled, "t3", "b", "title")

    assert reads(run.id).dropped() == {"title": DroppedPages(pages=1, chars=60, chunks=1)}
    assert [one.url for one in reads(run.id).aliases(10)] == [a_url("t3")]
    assert reads(run.id).domains() == [LedgerDomain(DOMAIN, aliases=1)]
    assert reads().dropped()["title"].pages == 3


@pytest.mark.usefixtures("filled")
def test_domains_come_by_their_pages(reads: Reads) -> None:
    assert reads().domains() == [
        LedgerDomain(DOMAIN, pages=2, aliases=4, chars_in=200, chars_out=140, chunks_in=4, chunks_out=3),
        LedgerDomain(OTHER, pages=1, aliases=0, chars_in=100, chars_out=60, chunks_in=1, chunks_out=0),
    ]


def test_each_address_is_told_once_with_what_found_it_last(reads: Reads, filled: ProjectStore) -> None:
    drop(filled, "t1", "a", "duplicate", minutes=5)

    found = {one.url: one for one in reads().aliases(100)}

    assert {url.rpartition("/")[2]: one.found_by for url, one in found.items()} == {
        "t1": "duplicate",
        "t2": "title",
        "k": "canonical",
        "r": "redirect",
    }
    assert found[a_url("r")] == StoredAlias(a_url("r"), a_url("b"), "redirect")
    assert len(list(reads().aliases(2))) == 2


@pytest.mark.usefixtures("filled")
def test_shared_chunks_name_who_gives_them(reads: Reads) -> None:
    (found,) = reads().shared(10)

    assert (found.pages, found.sample, found.chars) == (2, "two", 3)
    assert found.places == ((a_url("a"), True), (a_url("b"), False))


@pytest.mark.usefixtures("filled")
def test_sizes_are_summed_over_all_chunks(reads: Reads) -> None:
    assert reads().chunk_sizes() == (1 + 1 + 1 + 2 + 2, 3 + 3 + 3 + 5 + 4)


def test_the_page_that_one_is_like_is_found(reads: Reads, project: ProjectStore) -> None:
    for name, keeper, layer in (("a", None, None), ("b", "a", None), ("c", "a", "title")):
        project.write(
            [
                SignatureRecord(
                    page_key=key(name),
                    domain=DOMAIN,
                    text_hash=key(name),
                    title_key=None,
                    language="",
                    sketch=None,
                    layer=layer,
                    keeper=key(keeper) if keeper else None,
                    jaccard=0.95 if keeper else None,
                )
            ]
        )

    found = reads()

    assert [found.likeness(key(name)) for name in "abc"] == [
        None,
        StoredLikeness(key("a"), None, 0.95),
        StoredLikeness(key("a"), "title", 0.95),
    ]


@pytest.mark.usefixtures("filled")
def test_urls_are_told_by_keys_of_documents_and_of_addresses(reads: Reads) -> None:
    wanted = [key(name) for name in ("a", "r", "nothing")]

    assert reads().urls(wanted) == {key("a"): a_url("a"), key("r"): a_url("r")}


def test_removals_come_with_their_domain(reads: Reads, filled: ProjectStore) -> None:
    detail: dict[str, Any] = {"rules": [], "blocks": {}}
    for name, layer in (("c", "boilerplate"), ("a", "patterns"), ("b", "chunk")):
        reason = "2 blocks, 30 of 100 characters"
        filled.write([DecisionRecord(key(name), layer, "removed", reason, NOON, detail)])

    layers = ("boilerplate", "patterns")
    found = [(domain, one.page_key, one.detail) for domain, one in reads().removals(layers)]

    assert found == [(OTHER, key("c"), detail), (DOMAIN, key("a"), detail)]
    assert [one.page_key for _, one in reads().removals(layers, DOMAIN)] == [key("a")]
    assert list(reads().removed_reasons("patterns")) == [(DOMAIN, "2 blocks, 30 of 100 characters")]
