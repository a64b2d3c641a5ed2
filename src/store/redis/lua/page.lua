#!lua flags=no-writes
-- Reads ids of contexts that have all of some words and none of others, by ascending id. Stops early when it has looked at many: others want to be served, too.
--
-- Keys  all, term
-- ARGV[1]  where to begin, as a bound of ZRANGE: '(7' above 7, '7' from 7 on
-- ARGV[2]  where to end, as a bound of ZRANGE: '(7' below 7, '+inf'
-- ARGV[3]  how many matches to pass over
-- ARGV[4]  how many ids; 0: matches are only passed over, to be counted
-- ARGV[5]  how many candidates may be looked at
-- ARGV[6]  number of words that they must not have
-- ARGV[7…] those words, then the words that they must have; without any of the latter, all contexts match
--
-- Returns
--   {from, skip, ids…}  where to go on and how many matches to pass over then; from is empty when there are no more
local from, to, skip, limit, hops = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local page = {}

local function answer(where)
  return { where, skip, unpack(page) }
end

local sets, without, size = {}, {}, {}
local last = string.match(to, '^%((.*)') or to
for place = 7, #ARGV do
  local name = term(ARGV[place])
  size[name] = size_of(name)
  if place > 6 + ARGV[6] then sets[#sets + 1] = name
  elseif size[name] > 0 then without[#without + 1] = name end
end
if #sets == 0 then sets, size[all] = { all }, size_of(all) end
-- The smallest leads.
table.sort(sets, function(one, other) return size[one] < size[other] end)
local lead = sets[1]
if limit > 0 and skip >= size[lead] then return answer('') end

-- A bound without its parenthesis.
local function id_of(bound) return string.match(bound, '^%((.*)') or bound end

local function at_or_after(name, bound)
  local leaf, following = leaf_from(name, id_of(bound), last)
  hops = hops - 1
  local id = redis.call('ZRANGE', leaf, bound, to, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if id or not following then return id end
  return at_or_after(name, following)
end

-- The first that is excluded, from a bound on. Stays the same until it is passed.
local stop, known_from
local function excluded_from(bound)
  local from_id = tonumber(id_of(bound))
  if known_from and (not stop or tonumber(stop) > from_id) then return end
  stop, known_from = nil, from_id
  for _, name in ipairs(without) do
    local id = at_or_after(name, bound)
    if id and not (stop and tonumber(stop) <= tonumber(id)) then stop = id end
  end
end

-- Which of the candidates a set has. To ask for scores costs more than to read a few members too many.
local function members(name, candidates)
  local first, final, has = candidates[1], candidates[#candidates], {}
  local few = math.floor(#candidates / 8) + 1
  local begins = leaves_after(name, first, final, few)
  if #begins == few then
    for _, id in ipairs(candidates) do has[id] = redis.call('ZSCORE', leaf_of(name, id), id) end
    return has
  end
  table.insert(begins, 1, first)
  for _, begin in ipairs(begins) do
    local leaf = leaf_of(name, begin)
    if redis.call('ZCOUNT', leaf, first, final) > 3 * #candidates then
      for index, score in ipairs(redis.call('ZMSCORE', leaf, unpack(candidates))) do has[candidates[index]] = has[candidates[index]] or score end
    else
      for _, id in ipairs(redis.call('ZRANGE', leaf, first, final, 'BYSCORE')) do has[id] = true end
    end
  end
  return has
end

-- Takes those that are left of a number of candidates; true when that is all that was wanted.
local function take(candidates)
  local needed, unwanted = {}, {}
  for place = 2, #sets do needed[place - 1] = members(sets[place], candidates) end
  for place, name in ipairs(without) do unwanted[place] = members(name, candidates) end
  for _, candidate in ipairs(candidates) do
    local agreed = true
    for _, has in ipairs(needed) do agreed = agreed and has[candidate] end
    for _, has in ipairs(unwanted) do agreed = agreed and not has[candidate] end
    if agreed and skip > 0 then skip = skip - 1
    elseif agreed then page[#page + 1] = candidate end
    if limit > 0 and #page == limit then
      from = '(' .. candidate
      return true
    end
  end
  from = '(' .. candidates[#candidates]
end

while hops > 0 do
  local leaf, following = leaf_from(lead, id_of(from), last)
  local run, stops
  if #sets == 1 then
    excluded_from(from)
    stops = stop and (not following or tonumber(stop) < tonumber(following))
    run = redis.call('ZCOUNT', leaf, from, stops and '(' .. stop or to)
    hops = hops - 2
  end
  if run and (run >= 100 or not stops) then
    -- Up to the next one that is excluded, a leaf pages by rank.
    local passed = math.min(run, skip)
    local taken = math.min(run - passed, limit - #page)
    skip = skip - passed
    if taken > 0 then
      local rank = passed + redis.call('ZCOUNT', leaf, '-inf', string.match(from, '^%((.*)') or '(' .. from)
      for _, id in ipairs(redis.call('ZRANGE', leaf, rank, rank + taken - 1)) do page[#page + 1] = id end
      from = '(' .. page[#page]
      if #page == limit then return answer(from) end
    end
    if not stops and not following then return answer('') end
    from = stops and '(' .. stop or following
  else
    local count = math.max(16, math.min(200, 2 * (skip + limit - #page)))
    local candidates = redis.call('ZRANGE', leaf, from, to, 'BYSCORE', 'LIMIT', 0, count)
    hops = hops - 1 - #candidates * (#sets - 1 + #without)
    if #candidates > 0 and take(candidates) then return answer(from) end
    if #candidates < count then
      if not following then return answer('') end
      from = following
    end
    -- Whoever lacks what comes next says how far to leap.
    local ahead = 0
    for place = 2, #sets do
      local id = at_or_after(sets[place], from)
      if not id then return answer('') end
      if tonumber(id) > ahead then from, ahead = id, tonumber(id) end
    end
  end
end
return answer(from)
