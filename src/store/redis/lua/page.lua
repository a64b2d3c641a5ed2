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
for place = 7, #ARGV do
  local key = term(ARGV[place])
  size[key] = redis.call('ZCARD', key)
  if place > 6 + ARGV[6] then sets[#sets + 1] = key
  elseif size[key] > 0 then without[#without + 1] = key end
end
if #sets == 0 then sets, size[all] = { all }, redis.call('ZCARD', all) end
-- The smallest leads.
table.sort(sets, function(one, other) return size[one] < size[other] end)
local lead = sets[1]
if limit > 0 and skip >= size[lead] then return answer('') end

local function at_or_after(key, bound)
  return redis.call('ZRANGE', key, bound, to, 'BYSCORE', 'LIMIT', 0, 1)[1]
end

-- The first that is excluded, from a bound on.
local function excluded_from(bound)
  local first
  for _, key in ipairs(without) do
    local id = at_or_after(key, bound)
    if id and not (first and tonumber(first) <= tonumber(id)) then first = id end
  end
  return first
end

-- Which of the candidates a set has. To ask for scores costs more than to read a few members too many.
local function members(key, candidates)
  local first, last, has = candidates[1], candidates[#candidates], {}
  if redis.call('ZCOUNT', key, first, last) > 3 * #candidates then
    for index, score in ipairs(redis.call('ZMSCORE', key, unpack(candidates))) do has[candidates[index]] = score end
  else
    for _, id in ipairs(redis.call('ZRANGE', key, first, last, 'BYSCORE')) do has[id] = true end
  end
  return has
end

-- Takes those that are left of a number of candidates; true when that is all that was wanted.
local function take(candidates)
  local needed, unwanted = {}, {}
  for place = 2, #sets do needed[place - 1] = members(sets[place], candidates) end
  for place, key in ipairs(without) do unwanted[place] = members(key, candidates) end
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
  local stop, run
  if #sets == 1 then
    stop = excluded_from(from)
    run = redis.call('ZCOUNT', lead, from, stop and '(' .. stop or to)
    hops = hops - 2 - #without
  end
  if run and (run >= 100 or not stop) then
    -- Up to the next one that is excluded, one set pages by rank.
    local passed = math.min(run, skip)
    local taken = math.min(run - passed, limit - #page)
    skip = skip - passed
    if taken > 0 then
      local rank = passed + redis.call('ZCOUNT', lead, '-inf', string.match(from, '^%((.*)') or '(' .. from)
      for _, id in ipairs(redis.call('ZRANGE', lead, rank, rank + taken - 1)) do page[#page + 1] = id end
      from = '(' .. page[#page]
      if #page == limit then return answer(from) end
    end
    if not stop then return answer('') end
    from = '(' .. stop
  else
    local count = math.max(16, math.min(200, 2 * (skip + limit - #page)))
    local candidates = redis.call('ZRANGE', lead, from, to, 'BYSCORE', 'LIMIT', 0, count)
    hops = hops - #candidates * (#sets - 1 + #without)
    if #candidates > 0 and take(candidates) then return answer(from) end
    if #candidates < count then return answer('') end
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
