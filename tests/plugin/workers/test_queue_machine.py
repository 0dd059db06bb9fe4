"""The queue that workers share is a list with hands: each request waits, is in one worker's hands, or is done."""

import itertools
from collections.abc import Sequence
from datetime import timedelta

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Struct, field

from scrapy_dedup.plugin.workers.server import LeasedServer, QueueState, WantedRequest
from tests.machines import run_machine
from tests.redis_server import redis_server

__all__ = ["redis_server"]

WORKERS = ("a", "b", "c")
LONG = timedelta(hours=1)
# As `server` has them.
FEW_DEATHS, MOST_DEATHS = 2, 5

workers = st.sampled_from(WORKERS)
numbers = itertools.count()


class Model(Struct):
    """What is where; a request is named by its number, in the order of pushing, with its priority."""

    waiting: set[int] = field(default_factory=set)
    flight: dict[str, set[int]] = field(default_factory=lambda: {name: set() for name in WORKERS})
    held: dict[str, set[int]] = field(default_factory=lambda: {name: set() for name in WORKERS})
    priorities: dict[int, int] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """Workers that the server knows of."""
    dead: set[str] = field(default_factory=set)
    """Of these, whose leases are over."""

    def first(self) -> int | None:
        return min(self.waiting, key=lambda one: (-self.priorities[one], one), default=None)

    def is_suspect(self, one: int) -> bool:
        return self.deaths.get(one, 0) >= FEW_DEATHS

    def lends(self, worker: str) -> int | None:
        first, mine = self.first(), self.flight[worker]
        if first is None or (mine and self.is_suspect(first)):
            return None
        return None if len(mine) == 1 and self.is_suspect(*mine) else first

    def others(self, worker: str, hands: dict[str, set[int]]) -> int:
        """Return how many requests other workers have that the server knows of."""
        return sum(len(hands[name]) for name in self.known - {worker})


class QueueMachine(RuleBasedStateMachine):
    """Three workers, who come, die and are slow."""

    client: "redis.Redis"

    def __init__(self) -> None:
        super().__init__()
        self.name = f"machine-{next(numbers)}"
        self.queues = {name: LeasedServer(self.client, self.name, name, LONG) for name in WORKERS}
        self.model = Model()
        self.tokens: dict[int, str] = {}
        self.pushed = 0

    @rule(
        worker=workers,
        priority=st.integers(-1, 1),
        kind=st.sampled_from(["", "link", "first"]),
        page=st.sampled_from(["p", "q"]),
        callback=st.sampled_from(["parse", "other"]),
        identity=st.sampled_from(["", "start|1", "start|2"]),
    )
    def push(self, worker: str, priority: int, kind: str, page: str, callback: str, identity: str) -> None:
        model, mark = self.model, f"{page}|{callback}"
        is_new = True
        if kind == "link":
            is_new = not {mark, page} & model.seen
            model.seen |= {page} if is_new else set()
        elif kind == "first":
            is_new = not identity or identity not in model.seen
            model.seen |= {name for name in (identity, mark) if name} if is_new else set()
        body = str(self.pushed).encode()
        wanted = WantedRequest(body, priority, kind, page.encode(), callback, identity.encode())  # type: ignore[arg-type]

        assert self.queues[worker].push(wanted) is is_new
        if is_new:
            model.waiting.add(self.pushed)
            model.priorities[self.pushed] = priority
            self.pushed += 1

    @rule(worker=workers)
    def pop(self, worker: str) -> None:
        one = self.model.lends(worker)
        found = self.queues[worker].pop()

        assert (found is None) == (one is None)
        if one is None or found is None:
            return
        assert found[1] == str(one).encode()
        assert self.tokens.setdefault(one, found[0]) == found[0]
        self.model.waiting.discard(one)
        self.model.flight[worker].add(one)
        self.model.known.add(worker)

    @precondition(lambda self: self.tokens)
    @rule(worker=workers, data=st.data())
    def done(self, worker: str, data: st.DataObject) -> None:
        """Name requests that are done, also such as another has, and such as were put back."""
        named = data.draw(st.sets(st.sampled_from(sorted(self.tokens)), max_size=3))
        self.queues[worker].done(self._tokens(named))
        for one in named:
            mine = self.model.flight[worker], self.model.held[worker], self.model.waiting
            if any(one in some for some in mine):
                self.model.deaths.pop(one, None)
            for some in mine:
                some.discard(one)

    @precondition(lambda self: self.tokens)
    @rule(worker=workers, data=st.data())
    def hold(self, worker: str, data: st.DataObject) -> None:
        """Note that requests wait for nothing but to be safe."""
        named = data.draw(st.sets(st.sampled_from(sorted(self.tokens)), max_size=3))
        self.queues[worker].hold(self._tokens(named))
        moved = named & self.model.flight[worker]
        self.model.flight[worker] -= moved
        self.model.held[worker] |= moved

    @rule(worker=workers, data=st.data())
    def recover(self, worker: str, data: st.DataObject) -> None:
        mine = self.model.flight[worker]
        known = data.draw(st.sets(st.sampled_from(sorted(mine)))) if mine else set[int]()

        assert self.queues[worker].recover(self._tokens(known)) == len(mine - known)
        self.model.waiting |= mine - known
        self.model.flight[worker] = mine & known

    @rule(worker=workers)
    def renew(self, worker: str) -> None:
        """Let a worker be heard, also one that was thought dead."""
        assert self.queues[worker].renew() is (worker in self.model.known)
        self.model.known.add(worker)
        self.model.dead.discard(worker)

    @rule(worker=workers)
    def die(self, worker: str) -> None:
        if worker in self.model.known:
            self.client.zadd(f"{{{self.name}}}:workers", {worker: 0})
            self.model.dead.add(worker)

    @rule(worker=workers)
    def reclaim(self, worker: str) -> None:
        """Put back what dead workers had, and give up what too many died of."""
        model = self.model
        back, given_up = 0, set()
        for name in sorted(model.dead):
            for one in model.flight[name]:
                model.deaths[one] = model.deaths.get(one, 0) + 1
                given_up |= {one} if model.deaths[one] >= MOST_DEATHS else set()
            back += len(model.flight[name]) + len(model.held[name])
            model.waiting |= model.flight[name] | model.held[name]
            model.flight[name], model.held[name] = set(), set()
        model.waiting -= given_up
        model.given_up |= given_up
        model.known -= model.dead
        model.dead = set()
        found, bodies = self.queues[worker].reclaim()

        assert (found, {int(body) for body in bodies}) == (back, given_up)

    @rule(worker=workers, times=st.integers(1, 3))
    def crash(self, worker: str, times: int) -> None:
        """Let a worker die of what it has, again and again."""
        for _ in range(times):
            self.pop(worker)
            self.die(worker)
            self.reclaim(WORKERS[0])

    @rule(worker=workers, finished=st.booleans())
    def leave(self, worker: str, *, finished: bool) -> None:
        model = self.model
        mine = model.flight[worker] | model.held[worker]
        model.waiting |= mine
        model.flight[worker], model.held[worker] = set(), set()
        model.known.discard(worker)
        model.dead.discard(worker)

        assert self.queues[worker].leave(finished=finished) == (len(mine), model.others(worker, model.held))
        if finished and not model.known and not model.waiting:
            model.seen, model.deaths = set(), {}

    @invariant()
    def each_request_is_in_one_place(self) -> None:
        model, named = self.model, f"{{{self.name}}}"
        places = [model.waiting, model.given_up, *model.flight.values(), *model.held.values()]
        assert sum(map(len, places)) == len(set().union(*places))
        bodies = {int(one) for one in self.client.hvals(f"{named}:bodies")}
        assert bodies == set().union(*places) - model.given_up
        assert {int(one) for one in self.client.lrange(f"{named}:given_up", 0, -1)} == model.given_up
        for worker, queue in self.queues.items():
            assert queue.state() == QueueState(len(model.waiting), model.others(worker, model.flight))

    def _tokens(self, named: set[int]) -> Sequence[str]:
        return [self.tokens[one] for one in sorted(named)]


def test_no_request_of_a_shared_queue_is_lost_or_lent_twice_by_a_machine(redis_server):
    with redis_server.client() as client:
        run_machine(type("Machine", (QueueMachine,), {"client": client}))
