"""With LangChain's own record manager, vector store and index()."""
# ruff: noqa: E402 - the library may not be there

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import pytest

from tests.adapters.extras import needs

needs("langchain_core", "langchain")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, UpsertResponse, index
from langchain_core.indexing.in_memory import InMemoryDocumentIndex
from langchain_core.load import dumpd
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from scrapy_dedup.adapters.documents import AdapterError, Outcome, Reading, read
from scrapy_dedup.adapters.langchain import Index, document_key, removed_sources, sync, to_documents
from scrapy_dedup.core.urls import UrlRules, page_key
from tests.adapters.builders import SITE, a_tombstone, a_url, an_item


class StoreDownError(Exception):
    """What a vector store raises."""


class Counting(DeterministicFakeEmbedding):
    """LangChain's own stand-in for a model; notes what it was asked, and fails on chosen words."""

    asked: list[str] = Field(default_factory=list)
    poison: str | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.poison is not None and any(self.poison in text for text in texts):
            raise StoreDownError(self.poison)
        self.asked += texts
        return super().embed_documents(texts)


class Destination:
    """A vector store, its record manager, and the model that costs money."""

    def __init__(self) -> None:
        self.model = Counting(size=4)
        self.vectors = InMemoryVectorStore(self.model)
        self.records = InMemoryRecordManager("shop")

    def sync(self, items: Iterable[Any], **options: Any) -> Outcome:
        return sync(items, self.records, self.vectors, **options)

    def asked(self) -> list[str]:
        """Return what the model was asked since the last question."""
        asked, self.model.asked = self.model.asked, []
        return asked

    @property
    def texts(self) -> list[str]:
        return sorted(entry["text"] for entry in self.vectors.store.values())

    def is_consistent(self) -> bool:
        return self.records.list_keys() == list(self.vectors.store)


@pytest.fixture
def destination() -> Destination:
    return Destination()


def lines(documents: Sequence[Document]) -> list[Document]:
    """Part documents as LangChain's splitters do: into new documents without an id."""
    return [
        Document(page_content=line, metadata=document.metadata)
        for document in documents
        for line in document.page_content.splitlines()
    ]


def crawl(texts: dict[int, str], run: str) -> list[Any]:
    return [an_item(name, text, run=run) for name, text in texts.items()]


FIRST = {1: "One.", 2: "Two.", 3: "Three."}


def test_a_document_has_a_stable_id_and_what_changes_with_a_visit_beside_its_metadata():
    (document,) = to_documents([an_item(1, run="run-7")])

    assert document.id == "56b955f9-7ce7-5611-bc09-bea1117a9be2"
    assert document.page_content == "What the page says."
    assert document.metadata["source"] == a_url(1)
    assert document.visit["run"] == "run-7"
    assert "run-7" not in f"{document.metadata}{document.model_dump()}{dumpd(document)}"
    assert dumpd(document)["id"] == ["langchain", "schema", "document", "Document"]


def test_langchains_own_index_takes_an_unchanged_page_for_unchanged(destination: Destination):
    """By hand, without `sync`: hash of LangChain, `source` as the key."""
    results = [
        index(
            to_documents(crawl(FIRST, run)),
            destination.records,
            destination.vectors,
            cleanup="incremental",
            source_id_key="source",
            key_encoder="sha256",
        )
        for run in ("run-1", "run-2")
    ]

    assert [(result["num_added"], result["num_skipped"]) for result in results] == [(3, 0), (0, 3)]


def test_removed_pages_name_their_source():
    items = [an_item(1), a_tombstone(2)]

    assert removed_sources(items) == [a_url(2)]
    assert [document.metadata["source"] for document in to_documents(items)] == [a_url(1)]


def test_unchanged_pages_cost_nothing(destination: Destination):
    first = destination.sync(crawl(FIRST, "run-1"))
    assert destination.asked() == list(FIRST.values())

    second = destination.sync(crawl(FIRST, "run-2"))

    assert destination.asked() == []
    assert (first, second) == (Outcome(added=3), Outcome(skipped=3))


def test_another_spelling_of_its_url_costs_nothing(destination: Destination):
    destination.sync([an_item(f"{SITE}/a", "One.") | {"title": "A"}])
    destination.asked()

    destination.sync([an_item(f"{SITE}/a?utm_source=mail", "One.", run="run-2") | {"title": "A"}])

    assert destination.asked() == []


def test_a_changed_page_replaces_its_old_version(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))
    destination.asked()

    outcome = destination.sync(crawl({2: "Two, revised."}, "run-2"))

    assert destination.asked() == ["Two, revised."]
    assert destination.texts == ["One.", "Three.", "Two, revised."]
    assert outcome == Outcome(added=1, deleted=1)
    assert destination.is_consistent()


def test_removed_pages_are_deleted(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))

    outcome = destination.sync([a_tombstone(2), a_tombstone(99)])

    assert destination.texts == ["One.", "Three."]
    assert outcome == Outcome(deleted=1)
    assert destination.is_consistent()


def test_a_page_that_comes_back_is_stored_again(destination: Destination):
    for items in (crawl(FIRST, "run-1"), [a_tombstone(2, run="run-2")], crawl({2: "Two."}, "run-3")):
        destination.sync(items)

    assert destination.texts == ["One.", "Three.", "Two."]


def test_a_page_without_any_text_left_has_no_documents(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))
    destination.asked()

    destination.sync(crawl({2: " \n"}, "run-2"))

    assert destination.texts == ["One.", "Three."]
    assert destination.asked() == []


def test_failed_upserts_come_again(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))
    changed = {1: "One.", 2: "Two, revised.", 4: "Four."}
    destination.model.poison = "revised"
    with pytest.raises(StoreDownError):
        destination.sync(crawl(changed, "run-2"))
    assert destination.texts == ["One.", "Three.", "Two."]
    destination.model.poison = None
    destination.asked()

    destination.sync(crawl(changed, "run-3"))

    assert destination.asked() == ["Two, revised.", "Four."]
    assert destination.texts == ["Four.", "One.", "Three.", "Two, revised."]
    assert destination.is_consistent()


def test_a_failed_upsert_does_not_make_its_siblings_immortal(destination: Destination):
    """index() takes the group from what it knows before it stores the rest, and gives it back afterwards."""
    destination.sync(crawl(FIRST, "run-1"))
    destination.model.poison = "revised"
    with pytest.raises(StoreDownError):
        destination.sync(crawl({1: "One.", 2: "Two, revised."}, "run-2"))

    destination.sync([a_tombstone(1, run="run-3")])

    assert destination.texts == ["Three.", "Two."]


def test_a_part_that_did_not_change_is_not_embedded_again(destination: Destination):
    destination.sync(crawl({1: "Same.\nOld.\nGone."}, "run-1"), split=lines)
    destination.asked()

    outcome = destination.sync(crawl({1: "Same.\nNew."}, "run-2"), split=lines)

    assert destination.asked() == ["New."]
    assert destination.texts == ["New.", "Same."]
    assert outcome == Outcome(added=1, skipped=1, deleted=2)


def test_a_page_of_more_parts_than_a_batch_of_langchain_costs_nothing_when_it_did_not_change(destination: Destination):
    """With cleanup="incremental", index() deletes the parts of later batches and embeds them again."""
    text = "\n".join(f"Line {number}." for number in range(250))
    destination.sync(crawl({1: text}, "run-1"), split=lines)
    assert len(destination.asked()) == 250

    destination.sync(crawl({1: text}, "run-2"), split=lines)

    assert destination.asked() == []
    assert len(destination.texts) == 250


def test_several_items_of_a_page_stay_together_across_batches(destination: Destination):
    """As products of a list; between the first and the last there are more pages than a batch holds."""
    others = {number: f"Page {number}." for number in range(2, 300)}

    def items(run: str) -> list[Any]:
        return [an_item(1, "First.", run=run), *crawl(others, run), an_item(1, "Second.", run=run)]

    destination.sync(items("run-1"))
    assert {"First.", "Second."} <= set(destination.texts)

    destination.sync([an_item(1, "First.", run="run-2"), *crawl(others, "run-2"), an_item(1, "Third.", run="run-2")])

    assert {"First.", "Third."} <= set(destination.texts)
    assert "Second." not in destination.texts
    assert len(destination.texts) == 300


def test_a_feed_of_several_crawls_ends_in_the_state_after_the_last(destination: Destination):
    feed = [
        *crawl(FIRST, "run-1"),
        *crawl({1: "One, revised."}, "run-2"),
        a_tombstone(2, run="run-2"),
        *crawl({2: "Two is back."}, "run-3"),
        a_tombstone(3, run="run-3"),
    ]

    outcome = destination.sync(feed)

    assert destination.texts == ["One, revised.", "Two is back."]
    assert outcome == Outcome(added=5, deleted=3)


def test_the_tombstone_of_another_address_does_not_take_a_page_along(destination: Destination):
    """Both name one canonical page; the one that is left did not change, so that the second crawl skips it."""
    key = page_key(a_url("canonical")).hex()
    canonical = {"page_key": key, "canonical": a_url("canonical")}
    destination.sync([an_item("a", "Text.", **canonical), an_item("b", "Text.", **canonical)])

    destination.sync([a_tombstone("a")])

    assert [entry["metadata"]["source"] for entry in destination.vectors.store.values()] == [a_url("b")]


def test_a_page_that_a_crawl_has_found_is_not_removed_by_it(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))

    destination.sync([*crawl({1: "One.", 2: "Two, revised."}, "run-2"), a_tombstone(1), a_tombstone(2)])

    assert destination.texts == ["One.", "Three.", "Two, revised."]


def test_what_is_no_page_is_counted_and_passed_over(destination: Destination):
    outcome = destination.sync(
        [*crawl({1: "One."}, "run-1"), {"author": "A"}, an_item(2, None), *crawl({3: "3."}, "run-1")]
    )

    assert outcome.left == {"no_url": 1, "no_text": 1}
    assert destination.texts == ["3.", "One."]


def test_projects_share_a_vector_store_without_touching_each_other(destination: Destination):
    destination.sync([an_item(1, "One.", project="shop"), an_item(1, "One.", project="news")])

    destination.sync([a_tombstone(1)])

    assert [entry["metadata"]["source"] for entry in destination.vectors.store.values()] == [a_url(1)]


def test_hostile_text_is_stored(destination: Destination):
    item = an_item(1, "nul \0 and a lone \ud800 surrogate") | {"title": "\udcff\0"}

    destination.sync([item])

    assert destination.texts == ["nul  and a lone \ufffd surrogate"]


def test_a_split_that_loses_metadata_is_refused_before_anything_is_stored(destination: Destination):
    def bare(documents: Iterable[Document]) -> list[Document]:
        return [Document(page_content=document.page_content) for document in documents]

    with pytest.raises(AdapterError, match="hand a page's metadata on"):
        destination.sync(crawl(FIRST, "run-1"), split=bare)

    assert destination.texts == []


def test_a_deletion_that_the_store_refuses_is_tried_again(destination: Destination):
    class Refusing(InMemoryVectorStore):
        refuses = True

        def delete(self, ids: Sequence[str] | None = None, **options: Any) -> Any:
            return False if self.refuses else super().delete(ids, **options)

    vectors = destination.vectors = Refusing(destination.model)
    destination.sync(crawl(FIRST, "run-1"))
    with pytest.raises(AdapterError, match=r"Refusing\.delete refused 1 documents"):
        destination.sync([a_tombstone(2)])
    vectors.refuses = False

    destination.sync([a_tombstone(2)])

    assert destination.texts == ["One.", "Three."]


@pytest.mark.filterwarnings("ignore:.*beta")
def test_documents_that_a_document_index_reports_as_failed_come_again():
    """index() takes them for stored."""

    class Failing(InMemoryDocumentIndex):
        poison: str = "Two."

        def upsert(self, items: Sequence[Document], /, **options: Any) -> UpsertResponse:
            bad = [item for item in items if item.page_content == self.poison]
            done = super().upsert([item for item in items if item not in bad], **options)
            return {"succeeded": done["succeeded"], "failed": [str(item.id) for item in bad]}

    records, store = InMemoryRecordManager("shop"), Failing()
    with pytest.raises(AdapterError, match=r"Failing\.upsert failed for 1 of 3"):
        sync(crawl(FIRST, "run-1"), records, store)
    store.poison = ""

    outcome = sync(crawl(FIRST, "run-2"), records, store)
    sync([a_tombstone(1, run="run-3")], records, store)

    assert outcome == Outcome(added=3)
    assert sorted(document.page_content for document in store.store.values()) == ["Three.", "Two."]


def test_a_batch_written_twice_equals_once(destination: Destination):
    entries = [read(item) for item in (*crawl(FIRST, "run-1"), a_tombstone(9, run="run-1"))]
    once = Index(destination.records, destination.vectors)

    outcomes = [once.write(entries), once.write(entries)]  # type: ignore[arg-type]

    assert outcomes == [Outcome(added=3), Outcome(skipped=3)]
    assert destination.texts == sorted(FIRST.values())


def test_the_rules_of_the_crawl_give_a_page_one_source():
    rules = UrlRules(trailing_slash=True)

    documents = to_documents([an_item(f"{SITE}/a"), an_item(f"{SITE}/a/")], Reading(rules=rules))

    assert [document.metadata["source"] for document in documents] == [f"{SITE}/a"] * 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda document: {"page_content": document.page_content + "!"}, id="text"),
        pytest.param(lambda document: {"metadata": document.metadata | {"title": "Other"}}, id="metadata"),
    ],
)
def test_the_key_of_a_document_changes_with_what_is_stored(change: Callable[[Document], dict[str, Any]]):
    (document,) = to_documents([an_item()])
    (again,) = to_documents([an_item(run="run-9")])

    assert document_key(document) == document_key(again)
    assert document_key(document) != document_key(document.model_copy(update=change(document)))


def test_a_missing_library_is_named_with_the_way_to_install_it():
    program = "import sys; sys.modules['langchain_core'] = None; import scrapy_dedup.adapters.langchain"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stderr.endswith("langchain-core is not installed: pip install 'scrapy-dedup[langchain]'\n")


def test_a_generator_is_read_in_batches(destination: Destination):
    """A feed may be larger than memory."""
    read_so_far = count()
    seen_at_first_write: list[int] = []

    class Watching(InMemoryVectorStore):
        def add_documents(self, *arguments: Any, **options: Any) -> list[str]:
            seen_at_first_write.append(next(read_so_far))
            return super().add_documents(*arguments, **options)

    destination.vectors = Watching(destination.model)
    destination.sync(an_item(next(read_so_far), "Text.") for _ in range(1_000))

    assert seen_at_first_write[0] <= 101
