"""What people decided about the sites of a project, and the pages that are to be cleaned again for it.

And which parameters of their URLs were found to change nothing, with the counts that say so.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, delete, update

from scrapy_dedup.store.engine.codec import column_text, row_of
from scrapy_dedup.store.pages import contents
from scrapy_dedup.store.records.lookups import values_of
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import Document, SiteConfigRow, UrlParameter
from scrapy_dedup.store.tables.statements import change_in, upsert

STALE: Final = "config"
"""Why a page is to be cleaned again: what people decided about its site is another now."""


class StoredSiteConfig(Struct, frozen=True):
    """What people decided about a site.

    Attributes:
        config: as JSON holds it.
        version: 1 for the first, and one more with each change.
    """

    domain: str
    config: Mapping[str, Any]
    version: int
    updated_at: datetime


def get(connection: Connection, project_id: uuid.UUID, domain: str) -> StoredSiteConfig | None:
    """Return what is decided about a domain; None where nothing is."""
    row = connection.execute(
        values_of(SiteConfigRow, StoredSiteConfig, project_id).where(SiteConfigRow.domain == column_text(domain))
    ).first()
    return StoredSiteConfig(*row) if row else None


def of_project(connection: Connection, project_id: uuid.UUID) -> list[StoredSiteConfig]:
    """Return what is decided about all domains, in their order."""
    ordered = values_of(SiteConfigRow, StoredSiteConfig, project_id).order_by(by_code_point(SiteConfigRow.domain))
    return [StoredSiteConfig(*row) for row in connection.execute(ordered)]


def put(
    connection: Connection, project_id: uuid.UUID, domain: str, config: Mapping[str, Any], at: datetime
) -> tuple[int, int]:
    """Store what is decided about a domain; return its version and how many pages are to be cleaned again.

    What is stored already stays as it is, and no page is to be cleaned again for it.
    """
    contents.lock_project(connection, project_id)
    present = get(connection, project_id, domain)
    if present is not None and present.config == config:
        return present.version, 0
    version = present.version + 1 if present else 1
    row = row_of(StoredSiteConfig(domain, dict(config), version, at), project_id=project_id)
    upsert(connection, SiteConfigRow, ("project_id", "domain"), [row])
    return version, _mark_stale(connection, project_id, domain)


def unset(connection: Connection, project_id: uuid.UUID, domain: str) -> int:
    """Forget what is decided about a domain; return how many pages are to be cleaned again."""
    contents.lock_project(connection, project_id)
    of_domain = (SiteConfigRow.project_id == project_id, SiteConfigRow.domain == column_text(domain))
    if not connection.execute(delete(SiteConfigRow).where(*of_domain)).rowcount:
        return 0
    return _mark_stale(connection, project_id, domain)


def forget_stale(connection: Connection, project_id: uuid.UUID, page_keys: Collection[bytes]) -> int:
    """Note that pages were cleaned again; return how many of them waited for it."""
    waiting = update(Document).where(Document.project_id == project_id, Document.stale.is_not(None))
    return change_in(connection, waiting.values(stale=None), Document.page_key, page_keys)


def _mark_stale(connection: Connection, project_id: uuid.UUID, domain: str) -> int:
    of_domain = (Document.project_id == project_id, Document.domain == column_text(domain))
    completed = update(Document).where(*of_domain, Document.status == "completed")
    return connection.execute(completed.values(stale=STALE)).rowcount


class StoredParameter(Struct, frozen=True):
    """One parameter.

    Attributes:
        same: pages that were the same with it and without it, or with two values of it.
        different: pages that were not.
        ignored: it is left out of page keys.
    """

    domain: str
    name: str
    same: int
    different: int
    ignored: bool
    seen_at: datetime


def parameters_of_project(connection: Connection, project_id: uuid.UUID) -> list[StoredParameter]:
    """Return what is known of all domains' parameters, in the order of domains and names."""
    order = (by_code_point(UrlParameter.domain), by_code_point(UrlParameter.name))
    found = values_of(UrlParameter, StoredParameter, project_id).order_by(*order)
    return [StoredParameter(*row) for row in connection.execute(found)]


def put_parameters(connection: Connection, project_id: uuid.UUID, parameters: Iterable[StoredParameter]) -> None:
    """Store what is known now in place of what was known of the same parameters."""
    rows = [row_of(one, project_id=project_id) for one in parameters]
    upsert(connection, UrlParameter, ("project_id", "domain", "name"), rows)
