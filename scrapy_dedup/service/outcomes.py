"""What a callback made of a page: kept, so that an unchanged page need not be worked on again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

KEY_BYTES = 16

# A request of nothing but its address: [URL, callback, errback]; most of a page's requests are.
PlainRequest = list[str | None]


@dataclass(slots=True)
class Outcome:
    """What one callback yielded for one page, in JSON's terms."""

    callback: str
    requests: list[PlainRequest | dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    lost: str | None = None
    """Why it cannot be replayed; None where it can."""

    def lose(self, reason: str) -> None:
        """Give up keeping it: half an outcome would lose the other half."""
        self.lost = self.lost or reason
        self.requests.clear()
        self.items.clear()


def outcome_key(page_key: bytes, callback: str, arguments: Mapping[str, Any], version: str) -> bytes | None:
    """Return under what an outcome is kept: 16 bytes of page, callback, arguments and the spider's version.

    None where the arguments have no form in JSON: such a callback runs each time.
    """
    try:
        called = json.dumps([callback, arguments, version], sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return blake2b(page_key + called.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
