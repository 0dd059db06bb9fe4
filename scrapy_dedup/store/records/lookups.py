"""Questions that a crawl asks about its project, each one or a few statements by key; rows read back as values."""

import uuid
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Select, bindparam, select, tuple_
from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import column_text, unpack_json, unpack_text
from scrapy_dedup.store.records.records import BlockEvidence, ExtractionRecord
from scrapy_dedup.store.records.stored import (
    StoredBoilerplate,
    StoredDecision,
    StoredDocument,
    StoredPage,
    StoredRun,
    StoredSource,
    StoredUrl,
    StoredVersion,
)
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    DomainBoilerplate,
    SourceRow,
    SourceVersion,
)
from scrapy_dedup.store.tables.statements import rows_by, rows_in

Value = TypeVar("Value", bound=Struct)


def columns_of(model: type[Any], value: type[Any]) -> list[Any]:
    """Return the columns of a model that a value class has fields for, in the order of the fields."""
    return [getattr(model, name) for name in value.__struct_fields__ if hasattr(model, name)]


def named(column: Any, domains: str | Collection[str] | None) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that a column names a domain, or one of some; none at all for all domains."""
    if domains is None:
        return ()
    if isinstance(domains, str):
        return (column == column_text(domains),)
    return (column.in_(sorted(map(column_text, domains))),)


def values_of(model: type[Any], value: type[Any], project_id: uuid.UUID) -> Select[Any]:
    """Select of a project's rows what a value class has fields for."""
    return select(*columns_of(model, value)).where(model.project_id == project_id)


def find_page(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> StoredPage | None:
    """Return what there is with this key, None when there is nothing."""

    def find(model: type[Any], value: type[Any]) -> Any:
        return connection.execute(values_of(model, value, project_id).where(model.page_key == page_key)).first()

    url = find(CrawledUrl, StoredUrl)
    document = find(Document, StoredDocument)
    source = find(SourceRow, StoredSource)
    if not (url or document or source):
        return None
    return StoredPage(
        StoredUrl(*url) if url else None,
        StoredDocument(*document) if document else None,
        read_source(source) if source else None,
    )


def find_versions(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[StoredVersion]:
    """Return the older originals of a page, newest first."""
    of_page = (SourceVersion.project_id == project_id, SourceVersion.page_key == page_key)
    newest_first = (
        select(SourceVersion.fetched_at, SourceVersion.content)
        .where(*of_page)
        .order_by(SourceVersion.fetched_at.desc())
    )
    return [StoredVersion(at, unpack_text(content)) for at, content in connection.execute(newest_first)]


# Asked for every response: building the statement each time would cost a fifth of the question.
_DOCUMENT_KEYS = select(CrawledUrl.page_key, CrawledUrl.document_key).where(
    CrawledUrl.project_id == bindparam("of_project"), CrawledUrl.page_key.in_(bindparam("keys", expanding=True))
)


def find_document_keys(
    connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]
) -> dict[bytes, bytes | None]:
    """Return the document_key of those of the URLs that are stored, by page_key."""
    rows = rows_by(connection, _DOCUMENT_KEYS, keys, of_project=project_id)
    return {key: document_key for key, document_key in rows}  # noqa: C416 (a row is no pair for mypy)


def find_documents(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID, keys: Collection[bytes]
) -> dict[bytes, StoredDocument]:
    """Return those of the documents that the run wrote, by key."""
    in_run = values_of(Document, StoredDocument, project_id).where(Document.run_id == run_id)
    rows = rows_in(connection, in_run, Document.page_key, keys)
    return {row.page_key: StoredDocument(*row) for row in rows}


def find_urls_of_document(connection: Connection, project_id: uuid.UUID, document_key: bytes) -> list[StoredUrl]:
    """Return the URLs that stand for a document: its own first, then its aliases in alphabetical order."""
    urls = values_of(CrawledUrl, StoredUrl, project_id)
    own = urls.where(CrawledUrl.page_key == document_key, CrawledUrl.document_key == document_key)
    # In the words of the index, or it would not be used.
    aliases = urls.where(CrawledUrl.document_key == document_key, CrawledUrl.document_key != CrawledUrl.page_key)
    in_order = aliases.order_by(by_code_point(CrawledUrl.url), CrawledUrl.page_key)
    return [StoredUrl(*row) for find in (own, in_order) for row in connection.execute(find)]


def find_decisions(connection: Connection, project_id: uuid.UUID, page_key: bytes) -> list[StoredDecision]:
    """Return a page's decisions, oldest first."""
    of_page = (
        values_of(Decision, StoredDecision, project_id)
        .where(Decision.page_key == page_key)
        .order_by(Decision.decided_at, by_code_point(Decision.layer))
    )
    return [read(row, StoredDecision, detail=unpack_json) for row in connection.execute(of_page)]


def find_knowledge(connection: Connection, project_id: uuid.UUID, domain: str) -> dict[str, StoredBoilerplate]:
    """Return what repeats on a domain, by method."""
    of_domain = values_of(DomainBoilerplate, StoredBoilerplate, project_id)
    of_domain = of_domain.where(DomainBoilerplate.domain == column_text(domain))
    return {row.method: read_boilerplate(row) for row in connection.execute(of_domain)}


def is_known(connection: Connection, project_id: uuid.UUID, domain: str) -> bool:
    """Return whether anything was learned about a domain, be it that nothing repeats."""
    of_domain = (DomainBoilerplate.project_id == project_id, DomainBoilerplate.domain == column_text(domain))
    return connection.execute(select(DomainBoilerplate.id).where(*of_domain).limit(1)).first() is not None


def finished_documents(
    connection: Connection, run_id: uuid.UUID, after: tuple[datetime, bytes] | None, limit: int
) -> list[tuple[datetime, bytes]]:
    """Return (updated_at, page_key) of so many documents that a run completed, in this order."""
    order = (Document.updated_at, Document.page_key)
    some = select(*order).where(Document.run_id == run_id, Document.status == "completed")
    if after:
        some = some.where(tuple_(*order) > tuple_(*after))
    return [(at, key) for at, key in connection.execute(some.order_by(*order).limit(limit))]


def last_runs(connection: Connection, project_id: uuid.UUID, limit: int = 10) -> list[StoredRun]:
    """Return the runs that began last, newest first."""
    newest_first = (
        values_of(CrawlRun, StoredRun, project_id).order_by(CrawlRun.started_at.desc(), CrawlRun.id).limit(limit)
    )
    return [StoredRun(*row) for row in connection.execute(newest_first)]


def find_run(connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID) -> StoredRun | None:
    """Return a run of the project, None when it has no such run."""
    row = connection.execute(values_of(CrawlRun, StoredRun, project_id).where(CrawlRun.id == run_id)).first()
    return StoredRun(*row) if row else None


def read(row: Any, kind: type[Value], **packed: Callable[[bytes], Any]) -> Value:
    """Return the value of those columns of a row that it has fields for.

    *packed* unpacks columns; None stays None.
    """
    named = row._asdict()
    values = {name: named[name] for name in kind.__struct_fields__ if name in named}
    for name, unpacked in packed.items():
        if values[name] is not None:
            values[name] = unpacked(values[name])
    return kind(**values)


def read_source(row: Result[Any]) -> StoredSource:
    """Return the value of a row of `sources`."""
    return read(row, StoredSource, content=unpack_text, report=unpack_json)


def read_extraction(row: Result[Any]) -> ExtractionRecord:
    """Return the value of a row of `extractions`."""
    found = read(row, ExtractionRecord, cb_kwargs=unpack_json, requests=unpack_json, items=unpack_json)
    return found if found.cb_kwargs else replace(found, cb_kwargs={})


def read_boilerplate(row: Result[Any]) -> StoredBoilerplate:
    """Return the value of a row of `domain_boilerplate`."""
    found = read(row, StoredBoilerplate, evidence=read_evidence)
    return replace(found, boilerplate_hashes=tuple(found.boilerplate_hashes))


def read_evidence(packed: bytes) -> dict[str, BlockEvidence]:
    """Return unpacked evidence by fingerprint."""
    return {fingerprint: BlockEvidence(*parts) for fingerprint, parts in unpack_json(packed).items()}
