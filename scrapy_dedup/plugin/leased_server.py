"""One queue in Redis that several workers share: what one has in its hands comes back when it dies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapy_dedup.plugin import leased_scripts as scripts

# Of a worker that is gone, at once: a server does nothing else meanwhile.
_RECLAIMED_AT_ONCE = 500
# A request that was in the hands of so many workers that died may be what they die of: it is lent alone.
_FEW_DEATHS = 2
# After so many it is.
_MOST_DEATHS = 5
# A stopped crawl can be resumed so long; then its keys are forgotten.
_KEPT_SECONDS = 30 * 86_400


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request as it goes into the queue."""

    body: bytes
    priority: int = 0
    fingerprint: bytes = b""
    """Empty: not to be filtered."""
    mark: bytes = b""
    """Of its page and callback: a first request's page is not asked for again by a link."""
    identity: bytes = b""
    """Of a first request, which every worker brings: it is queued once."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """How a queue stands, at one moment."""

    waiting: int
    in_flight_elsewhere: int
    in_flight_here: int
    other_workers: int

    @property
    def is_over(self) -> bool:
        """Whether nothing waits, and nobody else has a request that may bring more or come back."""
        return not (self.waiting or self.in_flight_elsewhere)


class LeasedServer:
    """The queue by its name, for one worker. Every method may raise what the client raises."""

    def __init__(self, client: Any, name: str, worker: str, lease: timedelta) -> None:
        self._client = client
        # The client's own ten tries would hold up the crawl for ten times as long, and pop again what was lent.
        client.set_retry(Retry(NoBackoff(), 0))
        self.name = "{" + name + "}"
        self._worker = worker
        # A third longer than in the store, so that this one knows first that a worker is dead: then its pages are free
        # when they come back.
        self._lease_seconds = lease.total_seconds() * 4 / 3
        self._push = client.register_script(scripts.PUSH)
        self._pop = client.register_script(scripts.POP)
        self._done = client.register_script(scripts.DONE)
        self._hold = client.register_script(scripts.HOLD)
        self._recover = client.register_script(scripts.RECOVER)
        self._renew = client.register_script(scripts.RENEW)
        self._reclaim = client.register_script(scripts.RECLAIM)
        self._state = client.register_script(scripts.STATE)
        self._leave = client.register_script(scripts.LEAVE)
        self._clear = client.register_script(scripts.CLEAR)

    def __len__(self) -> int:
        """Return how many requests wait."""
        return int(self._client.zcard(f"{self.name}:queue"))

    def is_seen(self, fingerprint: bytes) -> bool:
        """Say whether a request with this fingerprint was queued before."""
        return bool(self._client.sismember(f"{self.name}:seen", fingerprint))

    def push(self, wanted: Wanted) -> bool:
        """Queue a request; False where it was seen before."""
        args = [-wanted.priority, wanted.body, wanted.fingerprint, wanted.mark, wanted.identity]
        return bool(self._run(self._push, args))

    def pop(self) -> tuple[str, bytes] | None:
        """Return the next request and the token by which it is given back; None where none waits.

        None, too, while this worker has something else in its hands, and workers died of the next one, or of what this
        one has.
        """
        found = self._run(self._pop, [self._worker, self._lease_seconds, _FEW_DEATHS])
        if not found:
            return None
        token, body = found
        return _text(token), body or b""

    def done(self, tokens: Sequence[str]) -> int:
        """Forget requests that are done; return how many were named."""
        return int(self._run(self._done, [self._worker, *tokens]))

    def hold(self, tokens: Sequence[str]) -> int:
        """Note that requests wait for nothing but that their items are safe: nobody need wait for them.

        Return how many were named.
        """
        return int(self._run(self._hold, [self._worker, *tokens]))

    def recover(self, known: Collection[str]) -> int:
        """Put back what this worker was lent and does not know of: an answer got lost. Return how many requests."""
        return int(self._run(self._recover, [self._worker, *known]))

    def renew(self) -> bool:
        """Say that this worker lives; False where it was not known, or was thought dead."""
        return bool(self._run(self._renew, [self._worker, self._lease_seconds, _KEPT_SECONDS]))

    def reclaim(self) -> tuple[int, list[bytes]]:
        """Put back what dead workers had; return how many requests, and those that are given up."""
        back, given_up = self._run(self._reclaim, [_RECLAIMED_AT_ONCE, _MOST_DEATHS])
        return int(back), [one or b"" for one in given_up]

    def state(self) -> QueueState:
        """Return how the queue stands."""
        return QueueState(*map(int, self._run(self._state, [self._worker])))

    def leave(self, *, finished: bool) -> int:
        """Put back what this worker still has and sign off; return how many requests went back."""
        return int(self._run(self._leave, [self._worker, int(finished)]))

    def clear(self) -> bool:
        """Forget everything; False, and nothing done, where other workers are there."""
        return bool(self._run(self._clear, [self._worker]))

    def _run(self, script: Any, args: list[Any]) -> Any:
        return script(keys=[self.name], args=args)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
