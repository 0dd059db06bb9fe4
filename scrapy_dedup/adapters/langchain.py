"""Pages as LangChain documents, and a vector store that is kept in step with crawls."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from uuid import uuid5

from scrapy_dedup.adapters.indexing import DEFAULTS, NAMESPACE, PAGE_ID, AdapterError, Counts, IndexedPage, pages_in
from scrapy_dedup.settings import Settings

try:
    from langchain_core.documents import Document
    from langchain_core.indexing import RecordManager, index
    from langchain_core.vectorstores import VectorStore
    from pydantic import Field
except ImportError as error:
    raise ImportError("langchain-core is not installed: pip install 'scrapy-dedup[langchain]'") from error

Split = Callable[[list[Document]], Iterable[Document]]
"""Parts documents, such as `RecursiveCharacterTextSplitter().split_documents`; each part has its page's metadata."""
_KEYS_AT_ONCE: Final = 500


class LangChainDocument(Document):
    """A page; *visit* is what each crawl says anew, and no part of what LangChain hashes, stores or serialises."""

    visit: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    @classmethod
    def lc_id(cls) -> list[str]:
        """Return the name under which it is serialised: that of a plain document."""
        return Document.lc_id()


def to_documents(items: Iterable[Any], settings: Settings = DEFAULTS) -> list[LangChainDocument]:
    """Return the documents of the pages with text among items, in order; `id` stands for project and page."""
    return [_document(page) for page in pages_in(items, settings) if page.text]


class VectorIndex:
    """A vector store, and the record manager that is of it and of these projects alone."""

    def __init__(self, record_manager: RecordManager, vector_store: VectorStore, split: Split = list) -> None:
        self._records, self._store, self._split = record_manager, vector_store, split

    def begin(self) -> None:
        """Take what is recorded by now for what older crawls stored."""
        # LangChain's own cleanup knows calls of index() only: of a page
        # whose parts or items come in two calls, the second would delete what the first has stored.
        self._began = self._records.get_time()

    def write(self, pages: Sequence[IndexedPage]) -> Counts:
        """Embed parts that are not there, then delete what is left of older versions and of removed pages."""
        parts = list(self._split([_document(page) for page in pages if page.text]))
        if any(PAGE_ID not in part.metadata for part in parts):
            raise AdapterError(f"split: a part has no metadata[{PAGE_ID!r}]; hand a page's metadata on to its parts")
        try:
            done = index(parts, self._records, self._store, cleanup=None, source_id_key=PAGE_ID, key_encoder=_key)
        except Exception:
            self._restore_groups(parts)
            raise
        counts = Counter(added=done["num_added"], skipped=done["num_skipped"])
        ids = sorted({page.id for page in pages})
        while keys := self._records.list_keys(before=self._began, group_ids=ids, limit=_KEYS_AT_ONCE):
            if self._store.delete(keys) is False:
                raise AdapterError(f"{type(self._store).__name__}.delete refused {len(keys)} documents: see its log")
            self._records.delete_keys(keys)
            counts["deleted"] += len(keys)
        return +counts

    def _restore_groups(self, parts: Sequence[Document]) -> None:
        """Tell the record manager again to which pages its parts belong.

        index() first touches what it knows, without the group, and writes the group once the rest was stored. When
        that fails, the parts belong to no page, and would stay for good when theirs is removed.
        """
        for start in range(0, len(parts), _KEYS_AT_ONCE):
            groups = {_key(part): str(part.metadata[PAGE_ID]) for part in parts[start : start + _KEYS_AT_ONCE]}
            known = [key for key, there in zip(groups, self._records.exists([*groups]), strict=True) if there]
            if known:
                self._records.update(known, group_ids=[groups[key] for key in known])


def _key(document: Document) -> str:
    """Return the id under which a document is stored: of its text and metadata, so that a change is new."""
    spelt = json.dumps([document.page_content, document.metadata], sort_keys=True).encode("utf-8", "surrogatepass")
    return str(uuid5(NAMESPACE, hashlib.sha256(spelt).hexdigest()))


def _document(page: IndexedPage) -> LangChainDocument:
    return LangChainDocument(page_content=page.text, id=page.id, metadata=page.metadata, visit=page.visit)
