"""How much one client may ask for: requests a minute, and bytes a body."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from starlette.types import Message, Receive

_CLIENTS_REMEMBERED: Final = 4_096
# uvicorn has no limit of its own for a body that never ends.
BODY_SECONDS: Final = 30.0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Rate:
    """Buckets of tokens, one a client, each filled evenly and holding a minute's worth."""

    def __init__(self, requests_a_minute: int, clock: Callable[[], float]) -> None:
        self._most, self._a_second, self._clock = float(requests_a_minute), requests_a_minute / 60, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, client: str, cost: float = 1.0) -> int:
        """Take tokens from a client's bucket; return 0, or the seconds to wait where it is empty."""
        bucket = self._filled(client)
        if bucket.tokens < 1:
            return max(1, math.ceil((1 - bucket.tokens) / self._a_second))
        bucket.tokens -= cost
        return 0

    def punish(self, client: str, share: float) -> None:
        """Take a share of a full bucket for a wrong token; the bucket may owe some afterwards."""
        bucket = self._filled(client)
        bucket.tokens = max(bucket.tokens - share * self._most, -self._most)

    def _filled(self, client: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(client)
        if bucket is None:
            bucket = self._buckets[client] = _Bucket(self._most, now)
            # Whoever came longest ago has a full bucket by now, or there is an attack from thousands of addresses.
            if len(self._buckets) > _CLIENTS_REMEMBERED:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(client)
        bucket.tokens = min(self._most, bucket.tokens + (now - bucket.filled_at) * self._a_second)
        bucket.filled_at = now
        return bucket


class Unread(Enum):
    """Why a body was not read."""

    TOO_LARGE = 413
    TOO_SLOW = 408
    GONE = 400


async def read_body(receive: Receive, declared: str | None, most: int) -> bytes | Unread:
    """Return a request's body; what is longer than it may be is not read on.

    Args:
        receive: of the request.
        declared: its Content-Length.
        most: bytes.
    """
    if declared is not None and (not declared.isdecimal() or len(declared) > 18 or int(declared) > most):
        return Unread.TOO_LARGE
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return Unread.GONE
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    return Unread.TOO_LARGE
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return Unread.TOO_SLOW


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then what else comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
