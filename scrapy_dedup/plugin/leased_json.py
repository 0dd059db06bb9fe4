"""Requests as JSON, for SCHEDULER_SERIALIZER of scrapy-redis, whose own is pickle."""

import json
from typing import Any

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.keeping import KeepLimits, Unkeepable, decode, encode

# A request has at most a form's body; what is larger belongs in a file or a table that the request names.
LIMITS = KeepLimits(depth=50, values=100_000, characters=4_000_000)


class UnwritableRequestError(DedupError, ValueError):
    """A request has no form that another process can read."""


def dumps(written: dict[str, Any]) -> bytes:
    """Return a request's dict as JSON: bytes, dates, tuples and sets come back as they were.

    Raises:
        UnwritableRequestError: something in it has no such form.
    """
    kept = {name: encode(value, LIMITS) for name, value in written.items()}
    for name, value in kept.items():
        if isinstance(value, Unkeepable):
            way_out = "use texts, numbers, lists and dicts" if value.reason == "type" else "keep it elsewhere"
            raise UnwritableRequestError(
                f"{written.get('url', '')!s:.200}: its {name} cannot be shared with other workers"
                f" ({value.reason}: {value.detail}); {way_out}"
            )
    return json.dumps(kept, separators=(",", ":")).encode()


def loads(text: bytes | str) -> dict[str, Any]:
    """Return a request's dict.

    Raises:
        DedupError: it is not what `dumps` wrote.
    """
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}") from error
    if not isinstance(kept, dict):
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}")
    return {name: decode(value) for name, value in kept.items()}
