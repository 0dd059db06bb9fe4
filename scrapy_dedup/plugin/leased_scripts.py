"""What happens in the Redis server in one step each, in its Lua.

Keys of a queue: `queue` (id by priority), `bodies` (id to request), `seen` (fingerprints), `serial`, `workers` (worker
by the end of its lease), `flight:WORKER` and `held:WORKER` (ids that it has), `deaths` (id to how many died of it),
`given_up` (requests). All begin with the queue's name in braces, so that a cluster keeps them on one node.
"""

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

# ARGV: score, body, fingerprint or '' (not filtered), mark of a first request's page or '', identity of a first
# request or ''. Seen and queued in one step: a worker killed in between would leave a URL that nobody asks for.
# Ids of a queue that begins anew are others, since no server pushes one each microsecond: a worker of the last one may
# still name its own.
PUSH = (
    _KEYS
    + """
local seen = name .. ':seen'
if ARGV[5] ~= '' and redis.call('SADD', seen, ARGV[5]) == 0 then return 0 end
if ARGV[3] ~= '' then
  if redis.call('SISMEMBER', seen, ARGV[4]) == 1 or redis.call('SADD', seen, ARGV[3]) == 0 then return 0 end
elseif ARGV[4] ~= '' then
  redis.call('SADD', seen, ARGV[4])
end
local serial = name .. ':serial'
if redis.call('EXISTS', serial) == 0 then redis.call('SET', serial, string.format('%.0f', microseconds)) end
local id = string.format('%016.0f', redis.call('INCR', serial))
redis.call('HSET', bodies, id, ARGV[2])
redis.call('ZADD', queue, ARGV[1], id)
return 1
"""
)

# ARGV: worker, seconds of its lease, of how many deaths a request is suspect. The smallest id of the best priority:
# those that came first. One that is suspect is lent to a worker that has nothing else: with others in its hands, these
# would come back with it, and be given up with it.
POP = (
    _KEYS
    + """
local function is_suspect(id) return tonumber(redis.call('HGET', name .. ':deaths', id) or 0) >= tonumber(ARGV[3]) end
local first, mine = redis.call('ZRANGE', queue, 0, 0), redis.call('ZRANGE', flight(ARGV[1]), 0, 1)
if #first == 0 then return false end
if #mine > 0 and (is_suspect(first[1]) or (#mine == 1 and is_suspect(mine[1]))) then return false end
local found = redis.call('ZPOPMIN', queue)
if not redis.call('ZSCORE', workers, ARGV[1]) then redis.call('ZADD', workers, now + ARGV[2], ARGV[1]) end
redis.call('ZADD', flight(ARGV[1]), found[2], found[1])
return {found[1], redis.call('HGET', bodies, found[1])}
"""
)

# ARGV: worker, ids. One that was put back because the worker was thought dead is done all the same, unless another
# has it by now.
DONE = (
    _KEYS
    + """
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
)

# ARGV: worker, ids that wait for nothing but to be safe.
HOLD = (
    _KEYS
    + """
for n = 2, #ARGV do
  local score = redis.call('ZSCORE', flight(ARGV[1]), ARGV[n])
  if score then
    redis.call('ZREM', flight(ARGV[1]), ARGV[n])
    redis.call('ZADD', held(ARGV[1]), score, ARGV[n])
  end
end
return #ARGV - 1
"""
)

# ARGV: worker, ids that it knows of. What else it has was lent to it by an answer that got lost, and goes back.
RECOVER = (
    _KEYS
    + """
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
)

# ARGV: worker, seconds of its lease, seconds that the keys are kept. Returns 1 for a worker that was known.
RENEW = (
    _KEYS
    + """
local known = redis.call('ZSCORE', workers, ARGV[1])
redis.call('ZADD', workers, now + ARGV[2], ARGV[1])
for _, key in ipairs({':queue', ':bodies', ':seen', ':serial', ':workers', ':deaths', ':given_up'}) do
  redis.call('EXPIRE', name .. key, ARGV[3])
end
for _, key in ipairs({flight(ARGV[1]), held(ARGV[1])}) do redis.call('EXPIRE', key, ARGV[3]) end
return known and 1 or 0
"""
)

# ARGV: how many requests at most, of how many deaths a request is guilty. Returns how many came back, and the requests
# that are given up.
RECLAIM = (
    _KEYS
    + """
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
)

# ARGV: worker. Returns how many wait, are in the hands of others, in its own, and how many other workers there are.
STATE = (
    _KEYS
    + """
local others, number = 0, 0
for _, worker in ipairs(redis.call('ZRANGE', workers, 0, -1)) do
  if worker ~= ARGV[1] then
    others = others + redis.call('ZCARD', flight(worker))
    number = number + 1
  end
end
return {redis.call('ZCARD', queue), others, redis.call('ZCARD', flight(ARGV[1])), number}
"""
)

# ARGV: worker, '1' if its crawl finished. What it still has goes back; the last one of a finished crawl tidies up.
LEAVE = (
    _KEYS
    + """
local back = #put_back(flight(ARGV[1]), 0) / 2 + #put_back(held(ARGV[1]), 0) / 2
redis.call('ZREM', workers, ARGV[1])
if ARGV[2] == '1' and redis.call('ZCARD', workers) + redis.call('ZCARD', queue) == 0 then
  for _, key in ipairs({':bodies', ':seen', ':serial', ':deaths'}) do redis.call('DEL', name .. key) end
end
return back
"""
)

# ARGV: worker. Forgets everything, unless others are at work.
CLEAR = (
    _KEYS
    + """
for _, worker in ipairs(redis.call('ZRANGE', workers, 0, -1)) do
  if worker ~= ARGV[1] then return 0 end
end
for _, key in ipairs({':queue', ':bodies', ':seen', ':serial', ':deaths', ':given_up'}) do
  redis.call('DEL', name .. key)
end
redis.call('DEL', flight(ARGV[1]), held(ARGV[1]))
return 1
"""
)
