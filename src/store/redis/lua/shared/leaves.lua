-- Sets of ids, named by their keys, in leaves of few ids each: Redis stores a small set of numbers in four bytes per
-- number, and a large one in a hundred. The first leaf is a sorted set under the name itself: the whole set while it is
-- small. The other leaves are sets. The directory, a sorted set, has the lowest
-- id that belongs to each of them. A leaf is named by that id, the first one by false.
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

-- The leaves that begin after an id, up to another id.
local function leaves_after(name, id, last, limit)
  return redis.call('ZRANGE', directory(name), '(' .. text_of(id), text_of(last), 'BYSCORE', 'LIMIT', 0, limit)
end

-- The ids of the first leaf from one down to another.
local function ranked_down(name, from, to, limit)
  return redis.call('ZRANGE', root .. name, text_of(from), text_of(to), 'BYSCORE', 'REV', 'LIMIT', 0, limit)
end

-- An upper bound of the number of ids. A leaf may have up to twice its usual size, when its ids are close to its first
-- one.
local function size_of(name)
  return redis.call('ZCARD', root .. name) + redis.call('ZCARD', directory(name)) * 2 * LEAF_IDS
end

-- How many ids a leaf other than the first has.
local function count_of(name, first) return redis.call('SCARD', leaf(name, first)) end

local function contains(name, id)
  local first = leaf_of(name, id)
  if first then return redis.call('SISMEMBER', leaf(name, first), id) == 1 end
  return redis.call('ZSCORE', root .. name, id)
end

-- All ids of a leaf other than the first, ascending. Redis returns them in that order, unless it is configured to
-- encode sets differently. Checking the order is much cheaper than sorting.
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

-- The ids of a leaf from one id up to another, ascending.
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

-- Which of the candidates, ascending or descending ids, are in a set.
local function members(name, candidates)
  local lowest, highest, has = candidates[1], candidates[#candidates], {}
  if tonumber(lowest) > tonumber(highest) then lowest, highest = highest, lowest end
  -- Reading a few members too many costs less than querying each candidate.
  local function look(first)
    local ids = first and ids_of(name, first) or redis.call('ZRANGE', root .. name, 0, -1)
    for _, id in ipairs(ids) do has[id] = true end
  end
  look(leaf_of(name, lowest))
  local few = math.floor(#candidates / 8) + 1
  local leaves = leaves_after(name, tonumber(lowest), tonumber(highest), few)
  if #leaves < few then
    for _, first in ipairs(leaves) do look(first) end
  else
    for _, id in ipairs(candidates) do has[id] = has[id] or contains(name, id) end
  end
  return has
end

local function highest_id(name)
  local last = leaf_of(name, '+inf')
  if not last then return redis.call('ZRANGE', root .. name, -1, -1)[1] end
  local found = ids_of(name, last)
  return found[#found]
end

-- Moves ids from a leaf that has too many to a new one: only the highest if it was just inserted, so that ascending ids
-- fill their leaves, else the upper half. Members that are no ids stay.
local function split(name, first, id, is_last)
  local ids = first and ids_of(name, first) or redis.call('ZRANGE', root .. name, -FIRST_IDS, -1)
  local moved = {}
  if is_last and ids[#ids] == id then moved[1] = id
  else
    for place = math.floor(#ids / 2) + 1, #ids do if tonumber(ids[place]) then moved[#moved + 1] = ids[place] end end
  end
  if not moved[1] then return end
  redis.call('ZADD', directory(name), moved[1], moved[1])
  if is_last then redis.call('HSET', last_leaves, name, moved[1]) end
  redis.call(first and 'SREM' or 'ZREM', first and leaf(name, first) or root .. name, unpack(moved))
  redis.call('SADD', leaf(name, moved[1]), unpack(moved))
end

-- Inserts an id into sets, a few hundred at most.
local function insert(names, id)
  local number, known, begins = tonumber(id), false, 0
  for place, last in ipairs(redis.call('HMGET', last_leaves, unpack(names))) do
    local name, first = names[place], last
    -- Many sets have last leaves that begin with the same id.
    if last ~= known then known, begins = last, tonumber(last or 0) end
    if number < begins then first = leaf_of(name, id) end
    if not first then
      redis.call('ZADD', root .. name, id, id)
      if redis.call('ZCARD', root .. name) > FIRST_IDS then split(name, first, id, not last) end
    else
      local key = leaf(name, first)
      redis.call('SADD', key, id)
      -- A leaf whose ids are this close to its first one cannot have too many.
      local is_close = first == last and number - begins < LEAF_IDS
      if not is_close and redis.call('SCARD', key) > LEAF_IDS then split(name, first, id, first == last) end
    end
  end
end

-- Removes an id from a set. A leaf that becomes empty is removed; leaves with few ids are not merged.
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
