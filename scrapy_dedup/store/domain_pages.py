"""What pages of a domain and of its twin hold, for a comparison."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from scrapy_dedup.store.models import CrawledUrl, Document
from scrapy_dedup.store.upserts import chunks


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a URL held.

    Attributes:
        document_key: of the page that has its content; None where no page came.
        cleaned_hash: of its clean text; None where there is none.
        content_hash: of the bytes that came.
    """

    document_key: bytes | None
    cleaned_hash: bytes | None
    content_hash: bytes | None


def some_pages(connection: Connection, project_id: uuid.UUID, name: str, limit: int) -> list[str]:
    """Return URLs of so many completed documents of a domain, spread evenly: in the order of their keys."""
    of_domain = (Document.project_id == project_id, Document.domain == name, Document.status == "completed")
    found = select(Document.url).where(*of_domain).order_by(Document.page_key).limit(limit)
    return list(connection.scalars(found))


def contents_of(connection: Connection, project_id: uuid.UUID, keys: Collection[bytes]) -> dict[bytes, PageContent]:
    """Return what those of the URLs held that were crawled."""
    document = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.page_key)
    columns = (CrawledUrl.page_key, CrawledUrl.document_key, Document.cleaned_hash, Document.content_hash)
    both = select(*columns).outerjoin(Document, document & (Document.status == "completed"))
    found = {}
    for some in chunks(keys):
        of_these = (CrawledUrl.project_id == project_id, CrawledUrl.page_key.in_(some))
        for key, *content in connection.execute(both.where(*of_these)):
            found[key] = PageContent(*content)
    return found


def count_pages(connection: Connection, project_id: uuid.UUID, names: Collection[str]) -> dict[str, int]:
    """Return how many completed documents there are of each domain."""
    of_these = (Document.project_id == project_id, Document.domain.in_(sorted(names)), Document.status == "completed")
    counted = select(Document.domain, func.count()).where(*of_these).group_by(Document.domain)
    found = {row[0]: row[1] for row in connection.execute(counted)}
    return {name: found.get(name, 0) for name in names}
