-- Sets of ids, named as in the keys, in leaves of few ids each: Redis keeps a small set of numbers in four bytes each,
-- and a large one in a hundred. The first leaf is a sorted set under the name itself: all of it while it is small, and
-- what version 0.1 wrote, of any size. The others are sets; the directory, a sorted set, has the lowest id that belongs
-- to each. A leaf is known by that id, the first one by false.
local FIRST_IDS = 64
local LEAF_IDS = 128
local function directory(name) return root .. 'd:' .. name end
local function leaf(name, first) return root .. 'l:' .. first .. ':' .. name end

-- Hash: the last leaf of each set that has more than the first.
local last_leaves = root .. 'last'

local function text_of(id) return string.format('%.0f', id) end

-- The leaf to which an id belongs.
local function leaf_of(name, id)
  return redis.call('ZRANGE', directory(name), id, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1] or false
end

-- Leaves after an id, and up to another.
local function leaves_after(name, id, last, limit)
  return redis.call('ZRANGE', directory(name), '(' .. text_of(id), text_of(last), 'BYSCORE', 'LIMIT', 0, limit)
end

-- What is in the first leaf from one rank to another.
local function ranked(name, from, to) return redis.call('ZRANGE', root .. name, from, to) end

-- At least as many ids as there are. A leaf may get as many again as fit into it, near to its first.
local function size_of(name)
  return redis.call('ZCARD', root .. name) + redis.call('ZCARD', directory(name)) * 2 * LEAF_IDS
end

-- How many the first leaf has from one id on and up to another, and any other leaf.
local function count_in_first(name, from, to) return redis.call('ZCOUNT', root .. name, from, to) end
local function count_of(name, first) return redis.call('SCARD', leaf(name, first)) end

local function scores_in_first(name, ids) return redis.call('ZMSCORE', root .. name, unpack(ids)) end

local function contains(name, id)
  local first = leaf_of(name, id)
  if first then return redis.call('SISMEMBER', leaf(name, first), id) == 1 end
  return redis.call('ZSCORE', root .. name, id)
end

-- All ids of a leaf that isn't the first, ascending. They come in that order, save where Redis is told to keep sets
-- otherwise: to look whether they do is much cheaper than to sort them.
local function ids_of(name, first)
  local ids, before = redis.call('SMEMBERS', leaf(name, first)), 0
  for _, id in ipairs(ids) do
    local number = tonumber(id)
    if number < before then
      table.sort(ids, function(one, other) return tonumber(one) < tonumber(other) end)
      break
    end
    before = number
  end
  return ids
end

-- Ids of a leaf from one on and up to another, ascending.
local function ids_between(name, first, from, to, limit)
  if not first then
    return redis.call('ZRANGE', root .. name, text_of(from), text_of(to), 'BYSCORE', 'LIMIT', 0, limit)
  end
  local found = {}
  for _, id in ipairs(ids_of(name, first)) do
    if #found == limit or tonumber(id) > to then break end
    if tonumber(id) >= from then found[#found + 1] = id end
  end
  return found
end

-- The first ids from one on and up to another.
local function first_ids(name, from, to, limit)
  local found = {}
  while from and #found < limit do
    local some = ids_between(name, leaf_of(name, text_of(from)), from, to, limit - #found)
    for _, id in ipairs(some) do found[#found + 1] = id end
    from = tonumber(leaves_after(name, from, to, 1)[1])
  end
  return found
end

local function highest_id(name)
  local last = leaf_of(name, '+inf')
  if not last then return ranked(name, -1, -1)[1] end
  local found = ids_of(name, last)
  return found[#found]
end

-- Moves ids from a leaf that has too many to a new one: the highest of all if it has just come, so that ascending ids
-- fill their leaves, else the upper half. What is no id stays.
local function split(name, first, id, is_last, count)
  local ids = first and ids_of(name, first) or redis.call('ZRANGE', root .. name, -FIRST_IDS, -1)
  local moved = {}
  if is_last and ids[#ids] == id then moved[1] = id
  elseif first or count <= LEAF_IDS then
    for place = math.floor(#ids / 2) + 1, #ids do if tonumber(ids[place]) then moved[#moved + 1] = ids[place] end end
  end
  if not moved[1] then return end
  redis.call('ZADD', directory(name), moved[1], moved[1])
  if is_last then redis.call('HSET', last_leaves, name, moved[1]) end
  redis.call(first and 'SREM' or 'ZREM', first and leaf(name, first) or root .. name, unpack(moved))
  redis.call('SADD', leaf(name, moved[1]), unpack(moved))
end

-- Into some hundreds of sets at most.
local function insert(names, id)
  local number, known, begins = tonumber(id), false, 0
  for place, last in ipairs(redis.call('HMGET', last_leaves, unpack(names))) do
    local name, first, count = names[place], last, 0
    -- Many sets have leaves that begin alike.
    if last ~= known then known, begins = last, tonumber(last or 0) end
    if number < begins then first = leaf_of(name, id) end
    if not first then
      redis.call('ZADD', root .. name, id, id)
      count = redis.call('ZCARD', root .. name)
      if count > FIRST_IDS then split(name, first, id, not last, count) end
    else
      local key = leaf(name, first)
      redis.call('SADD', key, id)
      -- Ids so near to its first can't be too many.
      if first == last and number - begins < LEAF_IDS then count = 0 else count = redis.call('SCARD', key) end
      if count > LEAF_IDS then split(name, first, id, first == last, count) end
    end
  end
end

-- An empty leaf goes; one with few ids stays as it is.
local function remove(name, id)
  local first = leaf_of(name, id)
  if not first then
    redis.call('ZREM', root .. name, id)
  elseif redis.call('SREM', leaf(name, first), id) == 1 and redis.call('EXISTS', leaf(name, first)) == 0 then
    redis.call('ZREM', directory(name), first)
    if redis.call('HGET', last_leaves, name) ~= first then return end
    local last = leaf_of(name, '+inf')
    if last then redis.call('HSET', last_leaves, name, last) else redis.call('HDEL', last_leaves, name) end
  end
end
