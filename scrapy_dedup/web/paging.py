"""Cursors of lists that have none of their own: where a list of changes goes on."""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from scrapy_dedup.service.changes import VERDICTS, Since
from scrapy_dedup.web.problems import ProblemError

_NO_CURSOR: Final = "after: this is not the `next` of a list of changes"


@dataclass(frozen=True, slots=True)
class ChangesPlace:
    """A place in a list of changes, with what the list's first part said: since when, and how many there are."""

    start: Since
    counts: tuple[int, ...]
    passed: int


def to_cursor(place: ChangesPlace) -> str:
    """Return a place as text that can stand in a URL."""
    run = str(place.start.run_id) if place.start.run_id else None
    plain = json.dumps([place.start.at.isoformat(), run, list(place.counts), place.passed])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def from_cursor(cursor: str) -> ChangesPlace:
    """Return the place that `to_cursor` wrote.

    Raises:
        ProblemError: the text is none.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, run, counts, passed = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        start = Since(_in_utc(at), UUID(run) if run is not None else None)
        place = ChangesPlace(start, tuple(counts), passed)
    except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError, OverflowError) as error:
        raise ProblemError(422, _NO_CURSOR) from error
    numbers = (*place.counts, passed)
    if len(numbers) != len(VERDICTS) + 1 or not all(map(_is_count, numbers)):
        raise ProblemError(422, _NO_CURSOR)
    return place


def _in_utc(text: str) -> datetime:
    """Return an instant in UTC, in which the store compares; OverflowError at the edge of all years."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found.astimezone(UTC)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
