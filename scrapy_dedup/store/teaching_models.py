"""The tables of what a browser saw of layouts, and of parameters of URLs that change nothing."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from scrapy_dedup.store.base import Base, of_project


class LayoutPicture(Base):
    """How a page of a layout looks, and what stands where on it; the newest one alone."""

    __tablename__ = "layout_pictures"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    layout: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    url: Mapped[str]
    made_at: Mapped[datetime]
    # Of the picture, in pixels of the page.
    width: Mapped[int]
    height: Mapped[int]
    boxes: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    # PNG; last: SQLite reads a row from its beginning.
    picture: Mapped[bytes] = mapped_column(LargeBinary)


class UrlParameter(Base):
    """How often pages of a domain were the same, and were not, with and without a parameter, or with other values."""

    __tablename__ = "url_parameters"

    project_id: Mapped[uuid.UUID] = of_project(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    same: Mapped[int]
    different: Mapped[int]
    # It is left out of page keys.
    ignored: Mapped[bool]
    seen_at: Mapped[datetime]
