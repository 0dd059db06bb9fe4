"""Pages as LlamaIndex documents, and an ingestion pipeline that is kept in step with crawls."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from scrapy_dedup.adapters.documents import (
    DEFAULT_READING,
    PAGE_ID,
    SOURCE,
    AdapterError,
    Entry,
    MissingExtraError,
    Outcome,
    PageText,
    Reading,
    RemovedPage,
    pages_in,
    removed_in,
)
from scrapy_dedup.adapters.pipeline import IndexPipeline
from scrapy_dedup.adapters.steps import keep_in_step

try:
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.schema import Document
    from llama_index.core.storage.docstore import BaseDocumentStore
    from llama_index.core.vector_stores.types import BasePydanticVectorStore
except ImportError as error:
    raise MissingExtraError("llama-index-core", "llamaindex") from error

# They tell a model nothing.
_NOT_FOR_MODELS: Final = (PAGE_ID, "domain")
# Node parsers refuse a document whose metadata are longer than a chunk, and a URL may be.
_LONGEST_SHOWN_URL: Final = 500
# No document has this hash, so that the next run deletes what a failed one has left, and makes the page anew.
_FAILED: Final = "failed"


class PageDocument(Document):
    """A page; *visit* is what each crawl says anew, and no part of what LlamaIndex hashes, stores or serialises."""

    visit: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    def __init__(self, **fields: Any) -> None:
        """Take the fields of a document, `text` included, which is none of its declared ones."""
        super().__init__(**fields)


def to_documents(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[PageDocument]:
    """Return the documents of items of any kind, lines of a feed included, in order.

    Removed pages, pages without text and items that are no pages have none. `id_` stands for project and page.
    """
    return [_document(page) for page in pages_in(items, reading)]


def removed_ids(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[str]:
    """Return the ids of the pages that items say are removed, in order."""
    return [page.id for page in removed_in(items, reading)]


def sync(items: Iterable[Any], pipeline: IngestionPipeline, *, reading: Reading = DEFAULT_READING) -> Outcome:
    """Bring docstore and vector store to the state that items describe; what did not change is not embedded again.

    Args:
        items: of one crawl, or of several that stand one after the other, as in a feed that grows.
        pipeline: with docstore and vector store, `DocstoreStrategy.UPSERTS`, and a node parser.
        reading: how items are read.

    Raises:
        AdapterError: the pipeline is another, or two items of one page have different texts.
        Exception: whatever the pipeline raises. Call it again with the same items: what was done is not done again.
    """
    return keep_in_step(items, lambda: Index(pipeline), reading)


class Index:
    """An ingestion pipeline during one crawl."""

    def __init__(self, pipeline: IngestionPipeline) -> None:
        """Take a pipeline.

        Raises:
            AdapterError: it would not update, not delete, or delete too much.
        """
        self._pipeline = pipeline
        self._docstore, self._vectors = _stores(pipeline)
        # Of each page of this crawl; 50 MB for a million of them.
        self._hashes: dict[str, bytes] = {}

    def write(self, entries: Sequence[Entry]) -> Outcome:
        """Store new and changed pages; delete removed ones and those of which no text is left."""
        pages = [entry for entry in entries if isinstance(entry, PageText)]
        fresh = self._fresh([page for page in pages if page.text])
        outcome = self._run([_document(page) for page in fresh.values()])
        self._hashes.update((page.id, _short_hash(page)) for page in fresh.values())
        # What this crawl has found is there, whatever else it says.
        gone = {entry.id for entry in entries if isinstance(entry, RemovedPage) or not entry.text}
        for identity in sorted(gone - self._hashes.keys()):
            outcome.deleted += self._delete(identity)
        return outcome

    def _fresh(self, pages: Sequence[PageText]) -> dict[str, PageText]:
        """Return the pages that this crawl did not bring before, each once."""
        fresh: dict[str, PageText] = {}
        for page in pages:
            known = _short_hash(fresh[page.id]) if page.id in fresh else self._hashes.get(page.id)
            if known is None:
                fresh[page.id] = page
            elif known != _short_hash(page):
                raise AdapterError(
                    f"{page.source[:200]}: two items with different texts, and in LlamaIndex a page is one document;"
                    " yield one item a page, or use scrapy_dedup.adapters.langchain"
                )
        return fresh

    def _run(self, documents: list[Document]) -> Outcome:
        hashes = {document.id_: self._docstore.get_document_hash(document.id_) for document in documents}
        changed = [document for document in documents if hashes[document.id_] != document.hash]
        if changed:
            try:
                self._pipeline.run(documents=changed)
            except Exception:
                # What the run may have left in the vector store is deleted when the page comes again.
                self._docstore.set_document_hashes({document.id_: _FAILED for document in changed})
                raise
        return Outcome(added=len(changed), skipped=len(documents) - len(changed))

    def _delete(self, identity: str) -> int:
        known = self._docstore.get_document_hash(identity) is not None
        self._vectors.delete(identity)
        self._docstore.delete_ref_doc(identity, raise_error=False)
        # The former passes over documents without nodes, and leaves the hash by which the page would be skipped
        # if it came back.
        self._docstore.delete_document(identity, raise_error=False)
        return int(known)


class LlamaIndexPipeline(IndexPipeline):
    """Scrapy pipeline: pages go through an ingestion pipeline, and count as seen once they are stored.

    A subclass says which: it has `acknowledge = scrapy_dedup.acknowledge` and `ingestion`, and `save` where docstore
    or vector store live in memory. The setting DEDUP_ACK has to be "manual".
    """

    def ingestion(self) -> IngestionPipeline:
        """Return the ingestion pipeline; asked once, when the spider opens."""
        raise NotImplementedError(f"{type(self).__name__}.ingestion: return an IngestionPipeline")

    def connect(self) -> Index:
        """Return the index for this crawl."""
        return Index(self.ingestion())


def _stores(pipeline: IngestionPipeline) -> tuple[BaseDocumentStore, BasePydanticVectorStore]:
    if pipeline.docstore is None or pipeline.vector_store is None:
        # LlamaIndex then falls back to comparing hashes, and notes them before anything was stored.
        raise AdapterError("IngestionPipeline: give it docstore= and vector_store=, or changed pages are not replaced")
    if pipeline.docstore_strategy != DocstoreStrategy.UPSERTS:
        raise AdapterError(
            f"IngestionPipeline: docstore_strategy={pipeline.docstore_strategy.value!r} deletes pages that did not"
            " change, or never any; use DocstoreStrategy.UPSERTS"
        )
    if all(isinstance(transformation, BaseEmbedding) for transformation in pipeline.transformations):
        # What it stores then names no document that it is a part of.
        raise AdapterError(
            "IngestionPipeline: add a node parser, such as SentenceSplitter(), or nothing can be deleted"
        )
    return pipeline.docstore, pipeline.vector_store


def _short_hash(page: PageText) -> bytes:
    return bytes.fromhex(page.content_hash)[:8]


def _document(page: PageText) -> PageDocument:
    shown_url = len(page.source) <= _LONGEST_SHOWN_URL
    return PageDocument(
        id_=page.id,
        text=page.text,
        metadata=dict(page.metadata),
        visit=dict(page.visit),
        excluded_embed_metadata_keys=[*_NOT_FOR_MODELS, SOURCE],
        excluded_llm_metadata_keys=[*_NOT_FOR_MODELS] if shown_url else [*_NOT_FOR_MODELS, SOURCE],
    )
