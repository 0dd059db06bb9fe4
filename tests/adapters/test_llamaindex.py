"""With LlamaIndex's own ingestion pipeline, docstore and vector store."""
# ruff: noqa: E402 - the library may not be there

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.extras import needs

needs("llama_index.core", "llamaindex")

from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from pydantic import Field

from scrapy_dedup.adapters.documents import AdapterError, Outcome
from scrapy_dedup.adapters.llamaindex import Index, PageDocument, removed_ids, sync, to_documents
from scrapy_dedup.core.urls import page_key
from tests.adapters.builders import SITE, a_tombstone, a_url, an_item

FIRST = {1: "One.", 2: "Two.", 3: "Three."}


class StoreDownError(Exception):
    """What a model or a vector store raises."""


class Counting(MockEmbedding):
    """LlamaIndex' own stand-in for a model; notes what it was asked, and fails on a chosen word."""

    asked: list[str] = Field(default_factory=list)
    poison: str | None = None

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if self.poison is not None and any(self.poison in text for text in texts):
            raise StoreDownError(self.poison)
        self.asked += texts
        return [self._get_vector() for _ in texts]


class HalfWriting(SimpleVectorStore):
    """Stores, then fails, as a server whose answer is lost."""

    fails: bool = False

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        added = super().add(nodes, **options)
        if self.fails:
            raise StoreDownError
        return added


class Destination:
    """An ingestion pipeline, and the model that costs money."""

    def __init__(self) -> None:
        self.model = Counting(embed_dim=2)
        self.vectors = HalfWriting()
        self.docstore = SimpleDocumentStore()
        self.pipeline = IngestionPipeline(
            # No cache: it would hide what is asked for twice.
            transformations=[SentenceSplitter(), self.model],
            docstore=self.docstore,
            vector_store=self.vectors,
            docstore_strategy=DocstoreStrategy.UPSERTS,
            disable_cache=True,
        )

    def sync(self, items: Sequence[Any]) -> Outcome:
        return sync(items, self.pipeline)

    def asked(self) -> list[str]:
        """Return what the model was asked since the last question."""
        asked, self.model.asked = self.model.asked, []
        return asked

    @property
    def sources(self) -> list[str]:
        """Return the page of each stored part."""
        return sorted(str(metadata["source"]) for metadata in self.vectors.data.metadata_dict.values())

    @property
    def texts(self) -> list[str]:
        return sorted(node.get_content() for node in self.docstore.docs.values())


@pytest.fixture
def destination() -> Destination:
    return Destination()


def crawl(texts: dict[int, str], run: str) -> list[Any]:
    return [an_item(name, text, run=run) for name, text in texts.items()]


def urls(*names: int) -> list[str]:
    return sorted(map(a_url, names))


def test_a_document_has_a_stable_id_and_what_changes_with_a_visit_beside_its_metadata():
    (document,) = to_documents([an_item(1, run="run-7")])
    (again,) = to_documents([an_item(1, run="run-8", verdict="unchanged")])

    assert document.id_ == "56b955f9-7ce7-5611-bc09-bea1117a9be2"
    assert document.text == "What the page says."
    assert document.visit["run"] == "run-7"
    assert document.hash == again.hash
    assert "run-7" not in f"{document.metadata}{document.to_dict()}"


def test_models_see_title_and_text_and_those_that_answer_the_source():
    (document,) = to_documents([an_item(1)])

    assert document.get_content(MetadataMode.EMBED) == "title: Page 1\n\nWhat the page says."
    assert document.get_content(MetadataMode.LLM) == f"title: Page 1\nsource: {a_url(1)}\n\nWhat the page says."


def test_removed_pages_name_their_id():
    items = [an_item(1), a_tombstone(2)]

    assert removed_ids(items) == [document.id_ for document in to_documents([an_item(2)])]
    assert [document.metadata["source"] for document in to_documents(items)] == [a_url(1)]


def test_unchanged_pages_cost_nothing(destination: Destination):
    first = destination.sync(crawl(FIRST, "run-1"))
    assert len(destination.asked()) == 3

    second = destination.sync(crawl(FIRST, "run-2"))

    assert destination.asked() == []
    assert (first, second) == (Outcome(added=3), Outcome(skipped=3))


def test_llamaindex_skips_unchanged_documents_by_itself(destination: Destination):
    """By hand, without `sync`."""
    assert len(destination.pipeline.run(documents=list(to_documents(crawl(FIRST, "run-1"))))) == 3

    assert destination.pipeline.run(documents=list(to_documents(crawl(FIRST, "run-2")))) == []


def test_unchanged_pages_cost_nothing_after_the_docstore_was_saved_and_read(destination: Destination, tmp_path: Path):
    destination.sync(crawl(FIRST, "run-1"))
    destination.asked()
    destination.pipeline.persist(str(tmp_path))
    destination.pipeline.load(str(tmp_path))

    destination.sync(crawl(FIRST, "run-2"))

    assert destination.asked() == []


def test_a_changed_page_replaces_its_old_version(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))
    destination.asked()

    outcome = destination.sync(crawl({2: "Two, revised."}, "run-2"))

    assert [text.endswith("Two, revised.") for text in destination.asked()] == [True]
    assert destination.texts == ["One.", "Three.", "Two, revised."]
    assert destination.sources == urls(1, 2, 3)
    assert outcome == Outcome(added=1)


def test_removed_pages_are_deleted(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))

    outcome = destination.sync([a_tombstone(2), a_tombstone(99)])

    assert destination.texts == ["One.", "Three."]
    assert destination.sources == urls(1, 3)
    assert outcome == Outcome(deleted=1)


def test_a_page_that_comes_back_is_stored_again(destination: Destination):
    """LlamaIndex' delete_ref_doc leaves the hash of a page, by which it would be skipped."""
    for items in (crawl(FIRST, "run-1"), [a_tombstone(2, run="run-2")], crawl({2: "Two."}, "run-3")):
        destination.sync(items)

    assert destination.texts == ["One.", "Three.", "Two."]
    assert destination.sources == urls(1, 2, 3)


def test_a_page_without_any_text_left_has_no_documents(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))

    outcome = destination.sync(crawl({2: " \n"}, "run-2"))

    assert destination.sources == urls(1, 3)
    assert outcome == Outcome(deleted=1)


def test_failed_upserts_come_again(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))
    changed = {1: "One.", 2: "Two, revised.", 4: "Four."}
    destination.model.poison = "revised"
    with pytest.raises(StoreDownError):
        destination.sync(crawl(changed, "run-2"))
    destination.model.poison = None
    destination.asked()

    outcome = destination.sync(crawl(changed, "run-3"))

    assert outcome == Outcome(added=2, skipped=1)
    assert destination.texts == ["Four.", "One.", "Three.", "Two, revised."]
    assert destination.sources == urls(1, 2, 3, 4)


def test_what_a_failed_upsert_has_stored_does_not_stay_beside_the_next(destination: Destination):
    destination.vectors.fails = True
    with pytest.raises(StoreDownError):
        destination.sync(crawl(FIRST, "run-1"))
    assert destination.sources == urls(1, 2, 3)
    destination.vectors.fails = False

    destination.sync(crawl(FIRST, "run-2"))

    assert destination.sources == urls(1, 2, 3)


def test_a_feed_of_several_crawls_ends_in_the_state_after_the_last(destination: Destination):
    destination.sync(
        [
            *crawl(FIRST, "run-1"),
            *crawl({1: "One, revised."}, "run-2"),
            a_tombstone(2, run="run-2"),
            *crawl({2: "Two is back."}, "run-3"),
            a_tombstone(3, run="run-3"),
        ]
    )

    assert destination.texts == ["One, revised.", "Two is back."]
    assert destination.sources == urls(1, 2)


def test_the_tombstone_of_another_address_does_not_take_a_page_along(destination: Destination):
    """Both name one canonical page; the one that is left did not change, so that the second crawl skips it."""
    key = page_key(a_url("canonical")).hex()
    canonical = {"page_key": key, "canonical": a_url("canonical")}
    destination.sync([an_item("a", "Text.", **canonical), an_item("b", "Text.", **canonical)])

    destination.sync([a_tombstone("a")])

    assert destination.sources == [a_url("b")]


def test_a_page_that_a_crawl_has_found_is_not_removed_by_it(destination: Destination):
    destination.sync(crawl(FIRST, "run-1"))

    destination.sync([*crawl({1: "One.", 2: "Two, revised."}, "run-2"), a_tombstone(1), a_tombstone(2)])

    assert destination.texts == ["One.", "Three.", "Two, revised."]


def test_items_of_a_page_with_one_text_are_one_document(destination: Destination):
    outcome = destination.sync([an_item(1, "One."), an_item(1, "One."), *crawl({2: "Two."}, "run-1")])

    assert outcome == Outcome(added=2)
    assert destination.sources == urls(1, 2)


@pytest.mark.parametrize("between", [pytest.param(0, id="in-a-batch"), pytest.param(150, id="across-batches")])
def test_items_of_a_page_with_different_texts_are_refused(destination: Destination, between: int):
    """One would replace the other."""
    others = crawl({number: f"Page {number}." for number in range(2, between)}, "run-1")

    with pytest.raises(AdapterError, match=r"www\.example\.com/1: two items .* yield one item a page"):
        destination.sync([an_item(1, "One."), *others, an_item(1, "Another.")])


def test_what_is_no_page_is_counted_and_passed_over(destination: Destination):
    outcome = destination.sync([{"author": "A"}, *crawl({1: "One."}, "run-1")])

    assert outcome == Outcome(added=1, left=outcome.left)
    assert outcome.left == {"no_url": 1}


def test_hostile_items_are_stored(destination: Destination):
    """A node parser refuses metadata that are longer than a chunk."""
    long_url = f"{SITE}/{'a' * 20_000}"
    item = an_item(long_url, "nul \0 and a lone \ud800 surrogate") | {"title": "{metadata_str} \udcff" * 1_000}

    destination.sync([item])

    assert destination.texts == ["nul  and a lone \ufffd surrogate"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"docstore": None}, "give it docstore= and vector_store=", id="no-docstore"),
        pytest.param({"vector_store": None}, "give it docstore= and vector_store=", id="no-vector-store"),
        pytest.param(
            {"docstore_strategy": DocstoreStrategy.UPSERTS_AND_DELETE},
            r"'upserts_and_delete' .* use DocstoreStrategy\.UPSERTS",
            id="deletes-all-others",
        ),
        pytest.param(
            {"docstore_strategy": DocstoreStrategy.DUPLICATES_ONLY}, r"use DocstoreStrategy\.UPSERTS", id="deletes-none"
        ),
        pytest.param({"transformations": [MockEmbedding(embed_dim=2)]}, "add a node parser", id="no-node-parser"),
    ],
)
def test_a_pipeline_that_would_lose_pages_is_refused(destination: Destination, change: dict[str, Any], message: str):
    pipeline = destination.pipeline.model_copy(update=change)

    with pytest.raises(AdapterError, match=message):
        Index(pipeline)


def test_a_document_comes_back_from_a_docstore_as_one_of_llamaindex(destination: Destination, tmp_path: Path):
    path = str(tmp_path / "docstore.json")
    destination.sync(crawl({1: "One."}, "run-1"))
    destination.docstore.persist(path)

    (document,) = SimpleDocumentStore.from_persist_path(path).docs.values()

    assert not isinstance(document, PageDocument)
    assert document.hash == to_documents(crawl({1: "One."}, "run-2"))[0].hash


def test_a_missing_library_is_named_with_the_way_to_install_it():
    program = "import sys; sys.modules['llama_index'] = None; import scrapy_dedup.adapters.llamaindex"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stderr.endswith("llama-index-core is not installed: pip install 'scrapy-dedup[llamaindex]'\n")
