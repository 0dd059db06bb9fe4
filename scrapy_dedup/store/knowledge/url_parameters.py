"""Which parameters of a domain's URLs were found to change nothing, with the counts that say so."""

import uuid
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, select

from scrapy_dedup.store.engine.codec import row_of
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import UrlParameter
from scrapy_dedup.store.tables.upserts import upsert


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


def of_project(connection: Connection, project_id: uuid.UUID) -> list[StoredParameter]:
    """Return what is known of all domains' parameters, in the order of domains and names."""
    order = (by_code_point(UrlParameter.domain), by_code_point(UrlParameter.name))
    found = (
        select(*columns_of(UrlParameter, StoredParameter)).where(UrlParameter.project_id == project_id).order_by(*order)
    )
    return [StoredParameter(*row) for row in connection.execute(found)]


def put(connection: Connection, project_id: uuid.UUID, parameters: Iterable[StoredParameter]) -> None:
    """Store what is known now in place of what was known of the same parameters."""
    rows = [row_of(one, project_id=project_id) for one in parameters]
    upsert(connection, UrlParameter, ("project_id", "domain", "name"), rows)
