-- Sets of ids, named as in the keys. Each lies in leaves of few ids, which Redis keeps in a tenth of the memory of one large sorted set. The first leaf is the key
-- itself; the directory has the lowest id that belongs to each of the others. What version 0.1 wrote is a first leaf of any size: it only shrinks.
local LEAF_IDS = 64
local function directory(name) return root .. 'd:' .. name end

-- The leaf to which an id belongs: its key, and the lowest id that belongs to it, nil for the first leaf.
local function leaf_of(name, id)
  local first = redis.call('ZRANGE', directory(name), id, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
  return first and root .. 'l:' .. first .. ':' .. name or root .. name, first
end

-- At least as many ids as there are.
local function size_of(name) return redis.call('ZCARD', root .. name) + redis.call('ZCARD', directory(name)) * LEAF_IDS end

-- Where the leaves after an id and up to another begin.
local function leaves_after(name, id, last, limit) return redis.call('ZRANGE', directory(name), '(' .. id, last, 'BYSCORE', 'LIMIT', 0, limit) end

-- The leaf in which the ids from one on begin, and where the next leaf begins; nil: there is none up to `last`.
local function leaf_from(name, id, last)
  return leaf_of(name, id), leaves_after(name, id, last, 1)[1]
end

local function insert(name, id)
  local key = leaf_of(name, id)
  if redis.call('ZADD', key, id, id) == 0 then return end
  local count = redis.call('ZCARD', key)
  if count <= LEAF_IDS then return end
  local moved = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  -- The highest of all begins a leaf: so ascending ids fill theirs. Else the upper half goes to a leaf of its own.
  if moved[1] ~= id or redis.call('ZCOUNT', directory(name), '(' .. id, '+inf') > 0 then
    if count > 2 * LEAF_IDS then return end
    moved = redis.call('ZRANGE', key, LEAF_IDS / 2, -1, 'WITHSCORES')
  end
  local first = moved[2]
  redis.call('ZADD', directory(name), first, first)
  for place = 1, #moved, 2 do
    redis.call('ZREM', key, moved[place])
    redis.call('ZADD', root .. 'l:' .. first .. ':' .. name, moved[place + 1], moved[place])
  end
end

-- An empty leaf goes; one with few ids stays as it is.
local function remove(name, id)
  local key, first = leaf_of(name, id)
  if redis.call('ZREM', key, id) == 1 and first and redis.call('EXISTS', key) == 0 then redis.call('ZREM', directory(name), first) end
end
