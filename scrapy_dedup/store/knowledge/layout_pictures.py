"""How pages of layouts look."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, select

from scrapy_dedup.store.engine.codec import column_text, row_of
from scrapy_dedup.store.records.lookups import columns_of
from scrapy_dedup.store.tables.models import LayoutPictureRow
from scrapy_dedup.store.tables.upserts import upsert


class StoredPicture(Struct, frozen=True):
    """A page of a layout as a browser showed it.

    Attributes:
        layout: its signature.
        width, height: of the picture, in pixels of the page.
        boxes: what stands where, as JSON holds it.
        picture: PNG.
    """

    domain: str
    layout: int
    url: str
    made_at: datetime
    width: int
    height: int
    boxes: Sequence[dict[str, Any]]
    picture: bytes


class PictureFacts(Struct, frozen=True):
    """What is known of a picture, without it."""

    layout: int
    url: str
    made_at: datetime
    width: int
    height: int
    boxes: Sequence[dict[str, Any]]


def _of_domain(kind: type[Struct], project_id: uuid.UUID, domain: str) -> Select[Any]:
    mine = (LayoutPictureRow.project_id == project_id, LayoutPictureRow.domain == column_text(domain))
    return select(*columns_of(LayoutPictureRow, kind)).where(*mine).order_by(LayoutPictureRow.layout)


def facts_of_domain(connection: Connection, project_id: uuid.UUID, domain: str) -> dict[int, PictureFacts]:
    """Return what is known of the pictures of a domain's layouts, by layout; the pictures themselves are not read."""
    rows = connection.execute(_of_domain(PictureFacts, project_id, domain))
    return {row.layout: PictureFacts(*row) for row in rows}


def get(connection: Connection, project_id: uuid.UUID, domain: str, layout: int) -> StoredPicture | None:
    """Return the picture of a layout; None where there is none."""
    asked = _of_domain(StoredPicture, project_id, domain).where(LayoutPictureRow.layout == layout)
    row = connection.execute(asked).first()
    return StoredPicture(*row) if row else None


def of_domain(connection: Connection, project_id: uuid.UUID, domain: str) -> dict[int, StoredPicture]:
    """Return the pictures of a domain's layouts, by layout."""
    rows = connection.execute(_of_domain(StoredPicture, project_id, domain))
    return {row.layout: StoredPicture(*row) for row in rows}


def put(connection: Connection, project_id: uuid.UUID, picture: StoredPicture) -> None:
    """Store a picture in place of the layout's former one."""
    row = row_of(picture, project_id=project_id, boxes=list(picture.boxes))
    upsert(connection, LayoutPictureRow, ("project_id", "domain", "layout"), [row])
