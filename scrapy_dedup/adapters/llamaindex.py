"""Pages as LlamaIndex documents, and an ingestion pipeline that is kept in step with crawls."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from scrapy_dedup.adapters.indexing import DEFAULTS, PAGE_ID, AdapterError, Counts, IndexedPage, pages_in
from scrapy_dedup.settings import Settings

try:
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.schema import Document
except ImportError as error:
    raise ImportError("llama-index-core is not installed: pip install 'scrapy-dedup[llamaindex]'") from error

# Node parsers refuse a document whose metadata are longer than a chunk, and a URL may be.
_LONGEST_SHOWN_URL: Final = 500


class LlamaIndexDocument(Document):
    """A page; *visit* is what each crawl says anew, and no part of what LlamaIndex hashes, stores or serialises."""

    visit: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)


def to_documents(items: Iterable[Any], settings: Settings = DEFAULTS) -> list[LlamaIndexDocument]:
    """Return the documents of the pages with text among items, in order; `id_` stands for project and page."""
    return [_document(page) for page in pages_in(items, settings) if page.text]


class IngestionIndex:
    """An ingestion pipeline, with docstore and vector store."""

    def __init__(self, pipeline: IngestionPipeline) -> None:
        """Refuse, by an AdapterError, one that cannot keep in step."""
        self._pipeline, docstore, vectors = pipeline, pipeline.docstore, pipeline.vector_store
        strategy = pipeline.docstore_strategy
        # Without a node parser what is stored names no document that it is a part of.
        parses = not all(isinstance(one, BaseEmbedding) for one in pipeline.transformations)
        if docstore is None or vectors is None or strategy != DocstoreStrategy.UPSERTS or not parses:
            raise AdapterError(
                "IngestionPipeline: needs docstore=, vector_store=, docstore_strategy=DocstoreStrategy.UPSERTS"
                f" (not {strategy.value!r}) and a node parser, such as SentenceSplitter(), to delete what is old alone"
            )
        self._docstore, self._vectors = docstore, vectors

    def begin(self) -> None:
        """Forget which pages this crawl has brought: 50 MB for a million of them."""
        self._hashes: dict[str, bytes] = {}

    def write(self, pages: Sequence[IndexedPage]) -> Counts:
        """Embed new and changed pages, and delete removed ones; an AdapterError refuses two texts of one page."""
        fresh: dict[str, bytes] = {}
        documents = []
        for page in (page for page in pages if page.text):
            text_hash = bytes.fromhex(page.visit["content_hash"])[:8]
            known = fresh.get(page.id, self._hashes.get(page.id))
            if known is None:
                fresh[page.id] = text_hash
                documents.append(_document(page))
            elif known != text_hash:
                raise AdapterError(
                    f"{page.source[:200]}: two items with different texts, and in LlamaIndex a page is one document;"
                    " yield one item a page, or use scrapy_dedup.adapters.langchain"
                )
        changed = [one for one in documents if self._docstore.get_document_hash(one.id_) != one.hash]
        try:
            self._pipeline.run(documents=[*changed])
        except Exception:
            # No document has this hash: what the run left in the vector store is deleted when the page comes again.
            self._docstore.set_document_hashes({one.id_: "failed" for one in changed})
            raise
        self._hashes |= fresh
        # What this crawl has found is there, whatever else it says.
        gone = {page.id for page in pages if not page.text} - self._hashes.keys()
        deleted = sum(map(self._delete, sorted(gone)))
        return +Counter(added=len(changed), skipped=len(documents) - len(changed), deleted=deleted)

    def _delete(self, identity: str) -> bool:
        known = self._docstore.get_document_hash(identity) is not None
        self._vectors.delete(identity)
        self._docstore.delete_ref_doc(identity, raise_error=False)
        # The former passes over documents without nodes, and leaves the hash by which the page would be skipped
        # if it came back.
        self._docstore.delete_document(identity, raise_error=False)
        return known


def _document(page: IndexedPage) -> LlamaIndexDocument:
    fields: dict[str, Any] = {"id_": page.id, "text": page.text, "metadata": page.metadata, "visit": page.visit}
    # To a model they say nothing.
    hidden = [PAGE_ID, "domain"]
    fields["excluded_embed_metadata_keys"] = [*hidden, "source"]
    fields["excluded_llm_metadata_keys"] = hidden if len(page.source) <= _LONGEST_SHOWN_URL else [*hidden, "source"]
    return LlamaIndexDocument(**fields)
