"""One queue in Redis that several workers share: what one has in its hands comes back when it dies.

Keys of a queue: `queue` (id by priority), `bodies` (id to request), `seen` (fingerprint to callback), `serial`,
`workers` (worker by the end of its lease), `flight:WORKER` and `held:WORKER` (ids that it has), `deaths` (id to how
many died of it), `given_up` (requests). All begin with the queue's name in braces, so that a cluster keeps them on one
node.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Final, Literal

from msgspec import Struct
from redis.backoff import NoBackoff
from redis.retry import Retry

# Of a worker that is gone, at once: a server does nothing else meanwhile.
_RECLAIMED_AT_ONCE = 500
# A request that was in the hands of so many workers that died may be what they die of: it is lent alone.
_FEW_DEATHS = 2
# After so many it is.
_MOST_DEATHS = 5
# A stopped crawl can be resumed so long; then its keys are forgotten.
_KEPT_SECONDS = 30 * 86_400


class WantedRequest(Struct, frozen=True):
    """A request as it goes into the queue."""

    body: bytes
    priority: int = 0
    kind: Literal["link", "first", ""] = ""
    """A link is filtered by its page, and where a first request led there by the same callback; a first request is
    queued; empty: nobody filters it."""
    page: bytes = b""
    """The fingerprint."""
    callback: str = ""
    identity: bytes = b""
    """Of a first request that every worker brings: it is queued once."""


class QueueState(Struct, frozen=True):
    """How a queue stands, at one moment."""

    waiting: int
    in_flight_elsewhere: int

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
        self._scripts = {name: client.register_script(_KEYS + script) for name, script in _SCRIPTS.items()}

    def __len__(self) -> int:
        """Return how many requests wait."""
        return int(self._client.zcard(f"{self.name}:queue"))

    def is_seen(self, fingerprint: bytes) -> bool:
        """Say whether a request with this fingerprint was queued before."""
        return bool(self._client.hexists(f"{self.name}:seen", fingerprint))

    def push(self, wanted: WantedRequest) -> bool:
        """Queue a request; False where it was seen before."""
        args = [-wanted.priority, wanted.body, wanted.kind, wanted.page, wanted.callback, wanted.identity]
        return bool(self._run("push", args))

    def pop(self) -> tuple[str, bytes] | None:
        """Return the next request and the token by which it is given back; None where none waits.

        None, too, while this worker has something else in its hands, and workers died of the next one, or of what this
        one has.
        """
        found = self._run("pop", [self._worker, self._lease_seconds, _FEW_DEATHS])
        if not found:
            return None
        token, body = found
        return (token.decode() if isinstance(token, bytes) else token), body or b""

    def done(self, tokens: Sequence[str]) -> int:
        """Forget requests that are done; return how many were named."""
        return int(self._run("done", [self._worker, *tokens]))

    def hold(self, tokens: Sequence[str]) -> int:
        """Note that requests wait for nothing but that their items are safe: nobody need wait for them.

        Return how many were named.
        """
        return int(self._run("hold", [self._worker, *tokens]))

    def recover(self, known: Collection[str]) -> int:
        """Put back what this worker was lent and does not know of: an answer got lost. Return how many requests."""
        return int(self._run("recover", [self._worker, *known]))

    def renew(self) -> bool:
        """Say that this worker lives; False where it was not known, or was thought dead."""
        return bool(self._run("renew", [self._worker, self._lease_seconds, _KEPT_SECONDS]))

    def reclaim(self) -> tuple[int, list[bytes]]:
        """Put back what dead workers had; return how many requests, and those that are given up."""
        back, given_up = self._run("reclaim", [_RECLAIMED_AT_ONCE, _MOST_DEATHS])
        return int(back), [one or b"" for one in given_up]

    def state(self) -> QueueState:
        """Return how the queue stands."""
        return QueueState(*map(int, self._run("state", [self._worker])))

    def leave(self, *, finished: bool) -> tuple[int, int]:
        """Put back what this worker still has and sign off.

        Return how many requests went back, and how many others hold that wait for nothing but to be safe.
        """
        back, held = self._run("leave", [self._worker, int(finished)])
        return int(back), int(held)

    def clear(self) -> bool:
        """Forget everything; False, and nothing done, where other workers are there."""
        return bool(self._run("clear", [self._worker]))

    def _run(self, script: str, args: list[Any]) -> Any:
        return self._scripts[script](keys=[self.name], args=args)


# What happens in the server in one step each, in its Lua; each script begins with the keys.

_KEYS = """
local name = KEYS[1]
local queue, bodies, workers = name .. ':queue', name .. ':bodies', name .. ':workers'
local time = redis.call('TIME')
local microseconds = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = microseconds / 1000000
local function flight(worker) return name .. ':flight:' .. worker end
local function held(worker) return name .. ':held:' .. worker end
local function put_back(from, most)
  local ids = redis.call('ZRANGE', from, 0, most - 1, 'WITHSCORES')
  for n = 1, #ids, 2 do
    redis.call('ZADD', queue, ids[n + 1], ids[n])
    redis.call('ZREM', from, ids[n])
  end
  return ids
end
"""

# ARGV: score, body, and of `Wanted` kind, page, callback, identity. Seen and queued in one step: a worker killed in
# between would leave a URL that nobody asks for.
# Ids of a queue that begins anew are others, since no server pushes one each microsecond: a worker of the last one may
# still name its own.
_PUSH = """
local seen, kind, page, callback, identity = name .. ':seen', ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local mark = page .. '|' .. callback
if kind == 'link' then
  if redis.call('HEXISTS', seen, mark) == 1 or redis.call('HSETNX', seen, page, callback) == 0 then return 0 end
elseif kind ~= '' then
  if identity ~= '' and redis.call('HSETNX', seen, identity, '') == 0 then return 0 end
  redis.call('HSET', seen, mark, '')
end
local serial = name .. ':serial'
if redis.call('EXISTS', serial) == 0 then redis.call('SET', serial, string.format('%.0f', microseconds)) end
local id = string.format('%016.0f', redis.call('INCR', serial))
redis.call('HSET', bodies, id, ARGV[2])
redis.call('ZADD', queue, ARGV[1], id)
return 1
"""

# ARGV: worker, seconds of its lease, of how many deaths a request is suspect. The smallest id of the best priority:
# those that came first. One that is suspect is lent to a worker that has nothing else: with others in its hands, these
# would come back with it, and be given up with it.
_POP = """
local function is_suspect(id) return tonumber(redis.call('HGET', name .. ':deaths', id) or 0) >= tonumber(ARGV[3]) end
local first, mine = redis.call('ZRANGE', queue, 0, 0), redis.call('ZRANGE', flight(ARGV[1]), 0, 1)
if #first == 0 then return false end
if #mine > 0 and (is_suspect(first[1]) or (#mine == 1 and is_suspect(mine[1]))) then return false end
local found = redis.call('ZPOPMIN', queue)
if not redis.call('ZSCORE', workers, ARGV[1]) then redis.call('ZADD', workers, now + ARGV[2], ARGV[1]) end
redis.call('ZADD', flight(ARGV[1]), found[2], found[1])
return {found[1], redis.call('HGET', bodies, found[1])}
"""

# ARGV: worker, ids. One that was put back because the worker was thought dead is done all the same, unless another
# has it by now.
_DONE = """
for n = 2, #ARGV do
  local id = ARGV[n]
  local had = redis.call('ZREM', flight(ARGV[1]), id) + redis.call('ZREM', held(ARGV[1]), id)
  if had > 0 or redis.call('ZREM', queue, id) > 0 then
    redis.call('HDEL', bodies, id)
    redis.call('HDEL', name .. ':deaths', id)
  end
end
return #ARGV - 1
"""

# ARGV: worker, ids that wait for nothing but to be safe.
_HOLD = """
for n = 2, #ARGV do
  local score = redis.call('ZSCORE', flight(ARGV[1]), ARGV[n])
  if score then
    redis.call('ZREM', flight(ARGV[1]), ARGV[n])
    redis.call('ZADD', held(ARGV[1]), score, ARGV[n])
  end
end
return #ARGV - 1
"""

# ARGV: worker, ids that it knows of. What else it has was lent to it by an answer that got lost, and goes back.
_RECOVER = """
local known, back = {}, 0
for n = 2, #ARGV do known[ARGV[n]] = true end
local ids = redis.call('ZRANGE', flight(ARGV[1]), 0, -1, 'WITHSCORES')
for n = 1, #ids, 2 do
  if not known[ids[n]] then
    redis.call('ZADD', queue, ids[n + 1], ids[n])
    redis.call('ZREM', flight(ARGV[1]), ids[n])
    back = back + 1
  end
end
return back
"""

# ARGV: worker, seconds of its lease, seconds that the keys are kept. Returns 1 for a worker that was known.
_RENEW = """
local known = redis.call('ZSCORE', workers, ARGV[1])
redis.call('ZADD', workers, now + ARGV[2], ARGV[1])
for _, key in ipairs({':queue', ':bodies', ':seen', ':serial', ':workers', ':deaths', ':given_up'}) do
  redis.call('EXPIRE', name .. key, ARGV[3])
end
for _, key in ipairs({flight(ARGV[1]), held(ARGV[1])}) do redis.call('EXPIRE', key, ARGV[3]) end
return known and 1 or 0
"""

# ARGV: how many requests at most, of how many deaths a request is guilty. Returns how many came back, and the requests
# that are given up.
_RECLAIM = """
local most, back, given_up = tonumber(ARGV[1]), 0, {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers, '-inf', now, 'LIMIT', 0, 10)) do
  local ids = put_back(flight(worker), most)
  for n = 1, #ids, 2 do
    if redis.call('HINCRBY', name .. ':deaths', ids[n], 1) >= tonumber(ARGV[2]) then
      redis.call('ZREM', queue, ids[n])
      local body = redis.call('HGET', bodies, ids[n])
      redis.call('HDEL', bodies, ids[n])
      redis.call('RPUSH', name .. ':given_up', body)
      given_up[#given_up + 1] = body
    end
  end
  back = back + #ids / 2 + #put_back(held(worker), most) / 2
  if redis.call('ZCARD', flight(worker)) + redis.call('ZCARD', held(worker)) == 0 then
    redis.call('ZREM', workers, worker)
  end
end
return {back, given_up}
"""

# ARGV: worker. Returns how many wait, and how many are in the hands of others.
_STATE = """
local others = 0
for _, worker in ipairs(redis.call('ZRANGE', workers, 0, -1)) do
  if worker ~= ARGV[1] then others = others + redis.call('ZCARD', flight(worker)) end
end
return {redis.call('ZCARD', queue), others}
"""

# ARGV: worker, '1' if its crawl finished. What it still has goes back; the last one of a finished crawl tidies up.
# Returns how many went back, and how many others hold.
_LEAVE = """
local back = #put_back(flight(ARGV[1]), 0) / 2 + #put_back(held(ARGV[1]), 0) / 2
redis.call('ZREM', workers, ARGV[1])
local others = 0
for _, worker in ipairs(redis.call('ZRANGE', workers, 0, -1)) do others = others + redis.call('ZCARD', held(worker)) end
if ARGV[2] == '1' and redis.call('ZCARD', workers) + redis.call('ZCARD', queue) == 0 then
  for _, key in ipairs({':bodies', ':seen', ':serial', ':deaths'}) do redis.call('DEL', name .. key) end
end
return {back, others}
"""

# ARGV: worker. Forgets everything, unless others are at work.
_CLEAR = """
for _, worker in ipairs(redis.call('ZRANGE', workers, 0, -1)) do
  if worker ~= ARGV[1] then return 0 end
end
for _, key in ipairs({':queue', ':bodies', ':seen', ':serial', ':deaths', ':given_up'}) do
  redis.call('DEL', name .. key)
end
redis.call('DEL', flight(ARGV[1]), held(ARGV[1]))
return 1
"""

_SCRIPTS: Final = {
    "push": _PUSH,
    "pop": _POP,
    "done": _DONE,
    "hold": _HOLD,
    "recover": _RECOVER,
    "renew": _RENEW,
    "reclaim": _RECLAIM,
    "state": _STATE,
    "leave": _LEAVE,
    "clear": _CLEAR,
}
