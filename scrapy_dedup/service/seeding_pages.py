"""What the readers of earlier crawls' files hand to the seeding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from scrapy_dedup.core.errors import DedupError

Advance: TypeAlias = Callable[[int], None]
"""Told how much was read since the last call: bytes of a file, pages of a folder."""


class SeedError(DedupError):
    """Nothing can be read from a file or folder; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that an earlier crawl saw; without html and content nothing but that is known.

    Attributes:
        at: when it was seen.
        item: what it gave, all fields; where it gave several, each comes with a FoundPage of its own.
        key: the request's own key in a deltafetch database, where the item names it.
    """

    where: str
    url: str
    at: datetime
    html: str | None = None
    content: str | None = None
    item: Mapping[str, Any] | None = None
    http_status: int = 200
    etag: str | None = None
    last_modified: str | None = None
    content_type: str | None = None
    key: str | None = None

    @property
    def chars(self) -> int:
        """How much memory it takes, roughly."""
        return len(self.html or "") + len(self.content or "")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line or an entry that is damaged, or is nothing that can be read."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoPage:
    """Something that was read, and is no page: a redirect, an error, an image."""

    where: str
    reason: str


Found: TypeAlias = FoundPage | Unreadable | NoPage


def instant(seconds: float, latest: datetime) -> datetime:
    """Return a time stamp as a time in UTC, at most *latest*: a page that was seen tomorrow is no page to trust.

    Raises:
        ValueError: it is out of the range of times.
    """
    try:
        return min(datetime.fromtimestamp(seconds, UTC), latest)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{seconds} is no time") from error
