"""Pages as LangChain documents, and a vector store that is kept in step with crawls."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final
from uuid import uuid5

from scrapy_dedup.adapters.documents import (
    DEFAULT_READING,
    NAMESPACE,
    PAGE_ID,
    AdapterError,
    Entry,
    MissingExtraError,
    Outcome,
    PageText,
    Reading,
    pages_in,
    removed_in,
)
from scrapy_dedup.adapters.pipeline import IndexPipeline
from scrapy_dedup.adapters.steps import batches, keep_in_step

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.indexing import DeleteResponse, DocumentIndex, RecordManager, UpsertResponse, index
    from langchain_core.vectorstores import VectorStore
    from pydantic import Field
except ImportError as error:
    raise MissingExtraError("langchain-core", "langchain") from error

Split = Callable[[list[Document]], Iterable[Document]]
"""Parts documents, such as `RecursiveCharacterTextSplitter().split_documents`; each part has its page's metadata."""

_KEYS_AT_ONCE: Final = 500


class PageDocument(Document):
    """A page; *visit* is what each crawl says anew, and no part of what LangChain hashes, stores or serialises."""

    visit: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    @classmethod
    def lc_id(cls) -> list[str]:
        """Return the name under which it is serialised: that of a plain document."""
        return Document.lc_id()


def to_documents(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[PageDocument]:
    """Return the documents of items of any kind, lines of a feed included, in order.

    Removed pages, pages without text and items that are no pages have none. `id` stands for project and page;
    `metadata` has `source` (the URL's normal form), `page_id`, `domain`, and, where there are any, title,
    date and author.
    """
    return [_document(page) for page in pages_in(items, reading)]


def removed_sources(items: Iterable[Any], reading: Reading = DEFAULT_READING) -> list[str]:
    """Return `source` of the pages that items say are removed, in order."""
    return [page.source for page in removed_in(items, reading)]


def document_key(document: Document) -> str:
    """Return the id under which a document is stored, a UUID: of its text and metadata, so that a change is new."""
    hashed = hashlib.sha256(
        json.dumps([document.page_content, document.metadata], sort_keys=True).encode("utf-8", "surrogatepass")
    )
    return str(uuid5(NAMESPACE, hashed.hexdigest()))


def sync(
    items: Iterable[Any],
    record_manager: RecordManager,
    vector_store: VectorStore | DocumentIndex,
    *,
    split: Split | None = None,
    reading: Reading = DEFAULT_READING,
) -> Outcome:
    """Bring a vector store to the state that items describe; what did not change is not embedded again.

    Args:
        items: of one crawl, or of several that stand one after the other, as in a feed that grows.
        record_manager: of this vector store and these projects alone.
        vector_store: where parts of pages are stored.
        split: parts pages; without it a page is one document.
        reading: how items are read.

    Raises:
        Exception: whatever record manager and vector store raise. Call it again with the same items: what was done
            is not done again.
    """
    return keep_in_step(items, lambda: Index(record_manager, vector_store, split=split), reading)


class Index:
    """A vector store and its record manager during one crawl."""

    def __init__(
        self, record_manager: RecordManager, vector_store: VectorStore | DocumentIndex, *, split: Split | None = None
    ) -> None:
        self._records = record_manager
        self._store = _Checked(inner=vector_store) if isinstance(vector_store, DocumentIndex) else vector_store
        self._split: Split = split or list
        # What was recorded before is of older crawls. LangChain's own cleanup knows calls of index() only: of a page
        # whose parts or items come in two calls, the second would delete what the first has stored.
        self._began = record_manager.get_time()

    def write(self, entries: Sequence[Entry]) -> Outcome:
        """Store new and changed pages, then delete what is left of their older versions and of removed pages."""
        pages = [entry for entry in entries if isinstance(entry, PageText)]
        outcome = self._store_parts([_document(page) for page in pages if page.text])
        outcome.deleted = self._delete_older(sorted({entry.id for entry in entries}))
        return outcome

    def _store_parts(self, documents: list[Document]) -> Outcome:
        parts = list(self._split(documents)) if documents else []
        if any(PAGE_ID not in part.metadata for part in parts):
            raise AdapterError(f"split: a part has no metadata[{PAGE_ID!r}]; hand a page's metadata on to its parts")
        try:
            done = index(
                parts, self._records, self._store, cleanup=None, source_id_key=PAGE_ID, key_encoder=document_key
            )
        except Exception:
            self._restore_groups(parts)
            raise
        return Outcome(added=done["num_added"], skipped=done["num_skipped"])

    def _restore_groups(self, parts: Sequence[Document]) -> None:
        """Tell the record manager again to which pages its parts belong.

        index() first touches what it knows, without the group, and writes the group once the rest was stored. When
        that fails, the parts belong to no page, and would stay for good when theirs is removed.
        """
        for some in batches(parts, _KEYS_AT_ONCE):
            keys = [document_key(part) for part in some]
            known = [
                (key, str(part.metadata[PAGE_ID]))
                for key, part, exists in zip(keys, some, self._records.exists(keys), strict=True)
                if exists
            ]
            if known:
                self._records.update([key for key, _ in known], group_ids=[group for _, group in known])

    def _delete_older(self, page_ids: list[str]) -> int:
        deleted = 0
        for some in batches(page_ids, _KEYS_AT_ONCE):
            while keys := self._records.list_keys(group_ids=some, before=self._began, limit=_KEYS_AT_ONCE):
                answer: Any = self._store.delete(keys)
                if answer is False or (isinstance(answer, dict) and answer.get("num_failed")):
                    raise AdapterError(
                        f"{type(self._store).__name__}.delete refused {len(keys)} documents: look into its log, and"
                        " sync again"
                    )
                self._records.delete_keys(keys)
                deleted += len(keys)
        return deleted


class LangChainPipeline(IndexPipeline):
    """Scrapy pipeline: pages go into a vector store, and count as seen once they are there.

    A subclass says where: it has `acknowledge = scrapy_dedup.acknowledge`, `stores`, and, where pages are to be
    parted, `split`. The setting DEDUP_ACK has to be "manual".
    """

    split: ClassVar[Split | None] = None

    def stores(self) -> tuple[RecordManager, VectorStore | DocumentIndex]:
        """Return record manager and vector store; asked once, when the spider opens."""
        raise NotImplementedError(f"{type(self).__name__}.stores: return (record_manager, vector_store)")

    def connect(self) -> Index:
        """Return the index for this crawl."""
        return Index(*self.stores(), split=type(self).split)


class _Checked(DocumentIndex):
    """A document index whose upsert raises where it failed; index() would take what failed for stored."""

    inner: DocumentIndex

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:
        answer = self.inner.upsert(items, **kwargs)
        if answer["failed"]:
            name = type(self.inner).__name__
            raise AdapterError(
                f"{name}.upsert failed for {len(answer['failed'])} of {len(items)} documents: look into its log, and"
                " sync again"
            )
        return answer

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> DeleteResponse:
        return self.inner.delete(ids, **kwargs)

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:
        return self.inner.get(ids, **kwargs)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.inner._get_relevant_documents(query, run_manager=run_manager)  # noqa: SLF001 (a wrapper's own)


def _document(page: PageText) -> PageDocument:
    return PageDocument(page_content=page.text, id=page.id, metadata=dict(page.metadata), visit=dict(page.visit))
