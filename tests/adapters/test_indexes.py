"""With the libraries' own record manager, vector stores, docstore and pipelines; what holds for both is said once."""
# ruff: noqa: E402 - the libraries may not be there

import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from tests.adapters.extras import needs

needs("langchain_core", "langchain")
needs("llama_index.core", "llamaindex")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.load import dumpd
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from pydantic import Field

from scrapy_dedup.adapters import langchain, llamaindex
from scrapy_dedup.adapters.indexing import AdapterError, Counts, sync
from scrapy_dedup.core.urls.normal_form import page_key
from tests.adapters.builders import a_tombstone, a_url, an_item

FIRST = {1: "One.", 2: "Two.", 3: "Three."}
ID = "56b955f9-7ce7-5611-bc09-bea1117a9be2"
"""Of page 1; another would have every index made anew."""


class StoreDownError(Exception):
    """What a model or a vector store raises."""


class LangChainModel(DeterministicFakeEmbedding):
    """Notes what it was asked, and fails on a chosen word."""

    asked: list[str] = Field(default_factory=list)
    poison: str | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.poison is not None and any(self.poison in text for text in texts):
            raise StoreDownError(self.poison)
        self.asked += texts
        return super().embed_documents(texts)


class LlamaIndexModel(MockEmbedding):
    """Does the same."""

    asked: list[str] = Field(default_factory=list)
    poison: str | None = None

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if self.poison is not None and any(self.poison in text for text in texts):
            raise StoreDownError(self.poison)
        # Of each node its metadata come first.
        self.asked += [text.rpartition("\n\n")[2] for text in texts]
        return [self._get_vector() for _ in texts]


class RefusingStore(InMemoryVectorStore):
    """Refuses to delete, while it is told to."""

    refuses = False

    def delete(self, ids: Sequence[str] | None = None, **options: Any) -> Any:
        return False if self.refuses else super().delete(ids, **options)


class HalfWritingStore(SimpleVectorStore):
    """Stores, then fails, as a server whose answer is lost."""

    fails: bool = False

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        added = super().add(nodes, **options)
        if self.fails:
            raise StoreDownError
        return added


class LangChain:
    """A vector store and its record manager."""

    def __init__(self) -> None:
        self.model = LangChainModel(size=4)
        self.vectors = RefusingStore(self.model)
        self.records = InMemoryRecordManager("shop")

    def index(self, split: langchain.Split = list) -> langchain.VectorIndex:
        return langchain.VectorIndex(self.records, self.vectors, split)

    @property
    def stored(self) -> list[tuple[str, str]]:
        assert self.records.list_keys() == list(self.vectors.store)
        return sorted((entry["metadata"]["source"], entry["text"]) for entry in self.vectors.store.values())


class LlamaIndex:
    """An ingestion pipeline."""

    def __init__(self) -> None:
        self.model = LlamaIndexModel(embed_dim=2)
        self.vectors = HalfWritingStore()
        self.docstore = SimpleDocumentStore()
        self.pipeline = IngestionPipeline(
            # No cache: it would hide what is asked for twice.
            transformations=[SentenceSplitter(), self.model],
            docstore=self.docstore,
            vector_store=self.vectors,
            docstore_strategy=DocstoreStrategy.UPSERTS,
            disable_cache=True,
        )

    def index(self) -> llamaindex.IngestionIndex:
        return llamaindex.IngestionIndex(self.pipeline)

    @property
    def stored(self) -> list[tuple[str, str]]:
        """Return source and text of everything that is there, in both stores."""
        found = sorted((str(node.metadata["source"]), node.get_content()) for node in self.docstore.docs.values())
        assert [source for source, _ in found] == sorted(
            str(metadata["source"]) for metadata in self.vectors.data.metadata_dict.values()
        )
        return found


Destination = LangChain | LlamaIndex


@pytest.fixture(params=[LangChain, LlamaIndex])
def destination(request) -> Destination:
    made: Destination = request.param()
    return made


def put(destination: Destination, items: Iterable[Any], **options: Any) -> tuple[Counts, list[str]]:
    """Return the counts of a sync, and what it embedded."""
    destination.model.asked = []
    return sync(items, destination.index(**options)), sorted(destination.model.asked)


def crawl(texts: dict[int, str], run: str) -> list[Any]:
    return [an_item(name, text, run=run) for name, text in texts.items()]


def pages(texts: dict[int, str]) -> list[tuple[str, str]]:
    return sorted((a_url(name), text) for name, text in texts.items())


def test_unchanged_pages_cost_nothing(destination):
    assert put(destination, crawl(FIRST, "run-1")) == (Counts(added=3), sorted(FIRST.values()))

    assert put(destination, crawl(FIRST, "run-2")) == (Counts(skipped=3), [])
    tracked = an_item(f"{a_url(1)}?utm_source=mail", "One.", run="run-3") | {"title": "Page 1"}
    assert put(destination, [tracked]) == (Counts(skipped=1), [])


@pytest.mark.parametrize(
    ("second", "embedded", "left"),
    [
        pytest.param(
            crawl({2: "Two, revised."}, "run-2"), ["Two, revised."], FIRST | {2: "Two, revised."}, id="changed"
        ),
        pytest.param([a_tombstone(2), a_tombstone(99)], [], {1: "One.", 3: "Three."}, id="removed"),
        pytest.param(crawl({2: " \n"}, "run-2"), [], {1: "One.", 3: "Three."}, id="no-text-left"),
        pytest.param([a_tombstone(2), *crawl({2: "Two."}, "run-3")], ["Two."], FIRST, id="removed-and-back"),
        pytest.param(
            [*crawl({1: "One.", 2: "2"}, "run-2"), a_tombstone(1), a_tombstone(2)],
            ["2"],
            FIRST | {2: "2"},
            id="found-and-removed-by-one-crawl",
        ),
        pytest.param(
            [{"author": "A"}, an_item(2, None, run="run-2"), *crawl({4: "4."}, "run-2")],
            ["4."],
            FIRST | {4: "4."},
            id="no-pages-among-them",
        ),
        pytest.param(
            [
                *crawl({1: "One, revised."}, "run-2"),
                a_tombstone(2, run="run-2"),
                *crawl({2: "Two is back."}, "run-3"),
                a_tombstone(3, run="run-3"),
            ],
            ["One, revised.", "Two is back."],
            {1: "One, revised.", 2: "Two is back."},
            id="feed-of-several-crawls",
        ),
    ],
)
def test_the_index_has_what_the_crawls_left(destination, second, embedded, left):
    put(destination, crawl(FIRST, "run-1"))

    counts, asked = put(destination, second)

    assert destination.stored == pages(left)
    assert asked == embedded
    assert counts["added"] == len(embedded)
    assert put(destination, second[-1:])[1] == []


def test_what_is_no_page_is_counted(destination):
    items = ["text", {"author": "A"}, an_item(2, None)]

    assert put(destination, items)[0] == {"left/no_item": 1, "left/no_url": 1, "left/no_text": 1}


def test_the_tombstone_of_another_address_or_project_does_not_take_a_page_along(destination):
    canonical = {"page_key": page_key(a_url("canonical")).hex(), "canonical": a_url("canonical")}
    put(destination, [an_item("a", "Text.", **canonical), an_item("b", "Text.", **canonical)])
    put(destination, [an_item("a", "News.", project="news")])

    assert put(destination, [a_tombstone("a")])[0] == Counts(deleted=1)

    assert destination.stored == [(a_url("a"), "News."), (a_url("b"), "Text.")]


def test_failed_upserts_come_again(destination):
    put(destination, crawl(FIRST, "run-1"))
    changed = {1: "One.", 2: "Two, revised.", 4: "Four."}
    destination.model.poison = "revised"
    with pytest.raises(StoreDownError):
        put(destination, crawl(changed, "run-2"))
    destination.model.poison = None

    assert put(destination, crawl(changed, "run-3")) == (Counts(added=2, skipped=1) + _deleted(destination, 1), ANEW)
    assert destination.stored == pages(FIRST | changed)


ANEW = ["Four.", "Two, revised."]


def _deleted(destination: Destination, number: int) -> Counts:
    """LlamaIndex replaces the older version while it adds the new one, and does not say so."""
    return Counts(deleted=number) if isinstance(destination, LangChain) else Counts()


@pytest.mark.parametrize(
    ("library", "extra"), [("langchain_core", "langchain"), ("llama_index", "llamaindex")], ids=str
)
def test_a_missing_library_is_named_with_the_way_to_install_it(library, extra):
    program = f"import sys; sys.modules['{library}'] = None; import scrapy_dedup.adapters.{extra}"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stderr.endswith(f"core is not installed: pip install 'scrapy-dedup[{extra}]'\n")


def lines(documents: Sequence[Document]) -> list[Document]:
    """Part documents as LangChain's splitters do: into new documents without an id."""
    return [
        Document(page_content=line, metadata=document.metadata)
        for document in documents
        for line in document.page_content.splitlines()
    ]


class TestLangChain:
    def test_a_document_has_a_stable_id_and_what_changes_with_a_visit_beside_its_metadata(self):
        document, other = langchain.to_documents([an_item(1, run="run-7"), a_tombstone(3), an_item(2)])

        assert (document.id, document.page_content) == (ID, "What the page says.")
        assert [one.metadata["source"] for one in (document, other)] == [a_url(1), a_url(2)]
        assert document.visit["run"] == "run-7"
        assert "run-7" not in f"{document.metadata}{document.model_dump()}{dumpd(document)}"
        assert dumpd(document)["id"] == ["langchain", "schema", "document", "Document"]

    def test_a_failed_upsert_does_not_make_its_siblings_immortal(self):
        """index() takes the group from what it knows before it stores the rest, and gives it back afterwards."""
        there = LangChain()
        put(there, crawl(FIRST, "run-1"))
        there.model.poison = "revised"
        with pytest.raises(StoreDownError):
            put(there, crawl({1: "One.", 2: "Two, revised."}, "run-2"))

        put(there, [a_tombstone(1, run="run-3")])

        assert there.stored == pages({2: "Two.", 3: "Three."})

    def test_only_the_parts_of_a_page_that_changed_are_embedded(self):
        """Of more parts than a batch of LangChain, too: with cleanup="incremental", index() embeds them again."""
        there = LangChain()
        text = "\n".join(f"Line {number}." for number in range(250))
        assert len(put(there, crawl({1: f"{text}\nOld."}, "run-1"), split=lines)[1]) == 251

        changed = put(there, crawl({1: f"{text}\nNew."}, "run-2"), split=lines)

        assert changed == (Counts(added=1, skipped=250, deleted=1), ["New."])

    def test_a_split_that_loses_metadata_is_refused_before_anything_is_stored(self):
        there = LangChain()

        with pytest.raises(AdapterError, match="hand a page's metadata on"):
            put(
                there,
                crawl(FIRST, "run-1"),
                split=lambda given: [Document(page_content=one.page_content) for one in given],
            )

        assert there.stored == []

    def test_a_deletion_that_the_store_refuses_is_tried_again(self):
        there = LangChain()
        put(there, crawl(FIRST, "run-1"))
        there.vectors.refuses = True
        with pytest.raises(AdapterError, match=r"RefusingStore\.delete refused 1 documents"):
            put(there, [a_tombstone(2)])
        there.vectors.refuses = False

        put(there, [a_tombstone(2)])

        assert there.stored == pages({1: "One.", 3: "Three."})


class TestLlamaIndex:
    def test_a_document_has_a_stable_id_and_shows_models_what_tells_them_something(self):
        document, again = llamaindex.to_documents([an_item(1, run="run-7"), an_item(1, run="run-8"), a_tombstone(2)])

        assert (document.id_, document.hash) == (ID, again.hash)
        assert document.visit["run"] == "run-7"
        assert "run-7" not in f"{document.metadata}{document.to_dict()}"
        assert document.get_content(MetadataMode.EMBED) == "title: Page 1\n\nWhat the page says."
        shown = f"title: Page 1\nsource: {a_url(1)}\n\nWhat the page says."
        assert document.get_content(MetadataMode.LLM) == shown

    def test_what_a_failed_upsert_has_stored_does_not_stay_beside_the_next(self):
        there = LlamaIndex()
        there.vectors.fails = True
        with pytest.raises(StoreDownError):
            put(there, crawl(FIRST, "run-1"))
        there.vectors.fails = False

        put(there, crawl(FIRST, "run-2"))

        assert there.stored == pages(FIRST)

    @pytest.mark.parametrize("between", [pytest.param(0, id="in-a-batch"), pytest.param(150, id="across-batches")])
    def test_items_of_a_page_are_one_document_or_refused(self, between):
        """With different texts, one would replace the other."""
        there = LlamaIndex()
        others = crawl({number: f"Page {number}." for number in range(2, between)}, "run-1")
        same = [an_item(1, "One."), *others, an_item(1, "One.")]
        assert put(there, same)[0]["added"] == len(same) - 1

        with pytest.raises(AdapterError, match=r"www\.example\.com/1: two items .* yield one item a page"):
            put(there, [*same, an_item(1, "Another.")])

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"docstore": None}, id="no-docstore"),
            pytest.param({"vector_store": None}, id="no-vector-store"),
            pytest.param({"docstore_strategy": DocstoreStrategy.UPSERTS_AND_DELETE}, id="deletes-all-others"),
            pytest.param({"docstore_strategy": DocstoreStrategy.DUPLICATES_ONLY}, id="deletes-none"),
            pytest.param({"transformations": [MockEmbedding(embed_dim=2)]}, id="no-node-parser"),
        ],
    )
    def test_a_pipeline_that_would_lose_pages_is_refused(self, change):
        needed = r"needs docstore=, vector_store=, docstore_strategy=DocstoreStrategy\.UPSERTS .* a node parser"

        with pytest.raises(AdapterError, match=needed):
            llamaindex.IngestionIndex(LlamaIndex().pipeline.model_copy(update=change))
