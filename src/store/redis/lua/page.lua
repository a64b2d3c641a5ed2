#!lua flags=no-writes
-- Reads ids of contexts that have all of some keys and none of others, by ascending id. Stops early when it has
-- examined many, so that other commands are served.
--
-- Keys  all, index_key
-- ARGV[1]  the lowest id
-- ARGV[2]  the highest
-- ARGV[3]  how many matches to skip
-- ARGV[4]  how many ids; 0: matches are only skipped, which counts them
-- ARGV[5]  how many candidates may be examined
-- ARGV[6]  number of keys that they must not have
-- ARGV[7…] those keys, then the keys that they must have; without any of the latter, all contexts match
--
-- Returns
--   {from, skip, ids…}  where to continue and how many matches to skip there; from is empty when there are no more
local from, to, skip = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local limit, hops = tonumber(ARGV[4]), tonumber(ARGV[5])
local page = {}
-- The cost of reading a leaf, in candidates.
local LEAF_HOPS = 24

local function answer(where)
  return { where and text_of(where) or '', skip, unpack(page) }
end

local sets, without, size = {}, {}, {}
for place = 7, #ARGV do
  local name = index_key(ARGV[place])
  size[name] = size_of(name)
  if place > 6 + ARGV[6] then sets[#sets + 1] = name
  elseif size[name] > 0 then without[#without + 1] = name end
end
if #sets == 0 then sets, size[all] = { all }, size_of(all) end
-- Candidates are read from the smallest set.
table.sort(sets, function(one, other) return size[one] < size[other] end)
local lead = sets[1]
if limit > 0 and skip >= size[lead] then return answer() end

-- The leaf to which an id belongs, and the id at which the next leaf begins; nil: none up to the highest id.
local function leaf_from(name, id)
  return leaf_of(name, text_of(id)), tonumber(leaves_after(name, id, to, 1)[1])
end

local function at_or_after(name, id)
  while id do
    local first, following = leaf_from(name, id)
    local found = ids_between(name, first, id, to, 1)[1]
    hops = hops - LEAF_HOPS
    if found then return tonumber(found) end
    id = following
  end
end

-- The first excluded id from an id on. It is remembered until it is passed.
local stop, known_from
local function excluded_from(id)
  if known_from and (not stop or stop >= id) then return stop end
  stop, known_from = nil, id
  for _, name in ipairs(without) do
    local found = at_or_after(name, id)
    if found and not (stop and stop <= found) then stop = found end
  end
  return stop
end

-- Takes the candidates that match; true when the page is complete.
local function take(candidates)
  local needed, unwanted = {}, {}
  for place = 2, #sets do needed[place - 1] = members(sets[place], candidates) end
  for place, name in ipairs(without) do unwanted[place] = members(name, candidates) end
  for _, candidate in ipairs(candidates) do
    local agreed = true
    for _, has in ipairs(needed) do agreed = agreed and has[candidate] end
    for _, has in ipairs(unwanted) do agreed = agreed and not has[candidate] end
    from = candidate + 1
    if agreed and skip > 0 then skip = skip - 1
    elseif agreed then page[#page + 1] = candidate end
    if limit > 0 and #page == limit then return true end
  end
end

-- Skips or takes the ids of a leaf up to an id, until the page is complete. One that is skipped as a whole is not read.
local function pass(first, up_to, is_whole)
  local count = is_whole and skip > 0 and count_of(lead, first)
  if count and count <= skip then
    skip = skip - count
    return
  end
  hops = hops - LEAF_HOPS
  for _, id in ipairs(ids_between(lead, first, from, up_to, -1)) do
    if skip > 0 then skip = skip - 1 elseif #page < limit then page[#page + 1] = id end
  end
end

while hops > 0 do
  local first, following = leaf_from(lead, from)
  local stops
  if #sets == 1 then
    stops = excluded_from(from)
    if stops and following and stops >= following then stops = nil end
    hops = hops - 2
  end
  if #sets == 1 and not stops then
    pass(first, to, first and following and from <= tonumber(first))
    if limit > 0 and #page == limit then return answer(page[#page] + 1) end
    from = following
    if not from then return answer() end
  else
    local count = math.max(16, math.min(200, 2 * (skip + limit - #page)))
    local candidates = ids_between(lead, first, from, to, count)
    hops = hops - 2 * LEAF_HOPS - #candidates * (#sets - 1 + #without)
    if #candidates > 0 and take(candidates) then return answer(from) end
    if #candidates < count then
      if not following then return answer() end
      from = following
    end
    -- Continues at the highest of the ids that the other sets have next.
    local ahead = from
    for place = 2, #sets do
      local id = at_or_after(sets[place], from)
      if not id then return answer() end
      ahead = math.max(ahead, id)
    end
    from = ahead
  end
end
return answer(from)
