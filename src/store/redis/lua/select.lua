#!lua flags=no-writes
-- Reads ids of contexts that have all of some keys and none of others, and whose times are in a range, in either order.
-- Stops early when it has examined many, so that other commands are served. `page` is faster for those by ascending id
-- whatever their times.
--
-- Keys  all, context, due, ended, packed, index_key
-- ARGV[1]  the lowest id
-- ARGV[2]  the highest
-- ARGV[3]  how many matches to skip
-- ARGV[4]  how many ids; 0: matches are only skipped, which counts them
-- ARGV[5]  how many candidates may be examined
-- ARGV[6]  1: by descending id, else 0
-- ARGV[7]  due before this time; empty: it doesn't matter
-- ARGV[8]  the lowest score among those that ended, as ZCOUNT takes it; empty: it doesn't matter
-- ARGV[9]  the highest
-- ARGV[10]  number of keys that they must not have
-- ARGV[11…] those keys, then the keys that they must have; without any of the latter, all contexts match
--
-- Returns
--   {from, skip, ids…}  where to continue, by descending id the highest id to look at, and how many matches to skip
--                       there; from is empty when there are no more
local lowest, highest, skip = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local limit, hops, is_down = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local due_before, ended_from, ended_to = tonumber(ARGV[7]), ARGV[8], ARGV[9]
local page = {}
-- The cost of reading a leaf, in candidates.
local LEAF_HOPS = 24
-- Those with such a time are sorted by id when they are no more than these.
local MOST_TIMED = 1000
-- Up to this time from now, a claim may hide when a context is due.
local CLAIM_MS = 60000

local function answer(where)
  return { where and text_of(where) or '', skip, unpack(page) }
end

local sets, without, size = {}, {}, {}
for place = 11, #ARGV do
  local name = index_key(ARGV[place])
  size[name] = size_of(name)
  if place > 10 + ARGV[10] then sets[#sets + 1] = name
  elseif size[name] > 0 then without[#without + 1] = name end
end
if #sets == 0 then sets, size[all] = { all }, size_of(all) end
table.sort(sets, function(one, other) return size[one] < size[other] end)
if size[sets[1]] == 0 then return answer() end

local claimed_up_to = due_before and milliseconds() + CLAIM_MS
-- When a context is due, whatever a claim or a notification has made of its score.
local function due_of(id)
  local text = redis.pcall('GET', packed(id))
  if type(text) == 'string' then
    local _, _, _, _, facts = unpacked(text)
    return tonumber((facts_of(facts or '')) or '')
  end
  local value = redis.pcall('HGET', context(id), 'd')
  return type(value) == 'string' and tonumber(value)
end

-- The candidates whose times are in the ranges.
local function in_time(candidates)
  if #candidates == 0 then return {} end
  local has = {}
  for _, id in ipairs(candidates) do has[id] = true end
  if ended_from ~= '' then
    local from, to = tonumber((string.gsub(ended_from, '%(', ''))), tonumber((string.gsub(ended_to, '%(', '')))
    for place, score in ipairs(redis.call('ZMSCORE', ended, unpack(candidates))) do
      local time = score and tonumber(score)
      if not time or from and time <= from or to and time >= to then has[candidates[place]] = nil end
    end
  end
  if due_before then
    for place, score in ipairs(redis.call('ZMSCORE', due, unpack(candidates))) do
      local id, time = candidates[place], score and tonumber(score)
      if has[id] and time and time <= claimed_up_to then
        hops = hops - 4
        time = due_of(id)
      end
      if not time or time >= due_before then has[id] = nil end
    end
  end
  return has
end

-- Those who may have such a time, ascending, when there are few: they are the candidates.
local timed
local function few(key, from, to)
  local count = redis.call('ZCOUNT', key, from, to)
  if count > MOST_TIMED or count >= size[sets[1]] or timed and count >= #timed then return end
  timed = {}
  for _, id in ipairs(redis.call('ZRANGE', key, from, to, 'BYSCORE')) do
    local number = tonumber(id)
    if number and number >= lowest and number <= highest then timed[#timed + 1] = number end
  end
  table.sort(timed)
end
if ended_from ~= '' then few(ended, ended_from, ended_to) end
if due_before then few(due, '-inf', text_of(math.max(due_before, claimed_up_to))) end

local function next_in(name)
  local id = is_down and highest or lowest
  while id and id >= lowest and id <= highest do
    local first, found = leaf_of(name, text_of(id))
    hops = hops - LEAF_HOPS
    if not is_down then
      found = ids_between(name, first, id, highest, 1)[1]
      id = not found and tonumber(leaves_after(name, id, highest, 1)[1])
    elseif not first then
      found = redis.call('ZRANGE', root .. name, text_of(id), text_of(lowest), 'BYSCORE', 'REV', 'LIMIT', 0, 1)[1]
      id = nil
    else
      for _, one in ipairs(ids_of(name, first)) do
        if tonumber(one) > id then break end
        found = one
      end
      id = tonumber(first) - 1
    end
    if found then return tonumber(found) end
  end
end

-- The next candidates of the smallest set, ascending, and where its next leaf is looked for.
local function next_candidates(count)
  local name = sets[1]
  local first = leaf_of(name, text_of(is_down and highest or lowest))
  if not is_down then
    return ids_between(name, first, lowest, highest, count), tonumber(leaves_after(name, lowest, highest, 1)[1])
  end
  local found, some = nil, {}
  if first then
    found = ids_between(name, first, lowest, highest, math.huge)
    for place = math.max(1, #found - count + 1), #found do some[#some + 1] = found[place] end
    return some, tonumber(first) - 1
  end
  found = redis.call('ZRANGE', root .. name, text_of(highest), text_of(lowest), 'BYSCORE', 'REV', 'LIMIT', 0, count)
  for place = #found, 1, -1 do some[#some + 1] = found[place] end
  return some
end

-- Takes the candidates that match; true when the page is complete.
local function take(candidates)
  local checked = {}
  for place = timed and 1 or 2, #sets do checked[#checked + 1] = members(sets[place], candidates) end
  if ended_from ~= '' or due_before then checked[#checked + 1] = in_time(candidates) end
  local unwanted = {}
  for place, name in ipairs(without) do unwanted[place] = members(name, candidates) end
  for place = 1, #candidates do
    local candidate = candidates[is_down and #candidates + 1 - place or place]
    local agreed = true
    for _, has in ipairs(checked) do agreed = agreed and has[candidate] end
    for _, has in ipairs(unwanted) do agreed = agreed and not has[candidate] end
    if is_down then highest = candidate - 1 else lowest = candidate + 1 end
    if agreed and skip > 0 then skip = skip - 1
    elseif agreed then page[#page + 1] = candidate end
    if limit > 0 and #page == limit then return true end
  end
end

-- Passes over a leaf that is skipped as a whole; true if it did.
local is_at_leaf = highest >= 2 ^ 53 - 2
local function pass_leaf()
  if not is_down or skip == 0 or #sets > 1 or #without > 0 or timed or due_before or ended_from ~= '' then return end
  local first = leaf_of(sets[1], text_of(highest))
  if not is_at_leaf or not first or tonumber(first) < lowest then return end
  local count = count_of(sets[1], first)
  if count > skip then return end
  skip, highest, hops = skip - count, tonumber(first) - 1, hops - 2
  return true
end

local function position() return is_down and highest or lowest end

if timed then
  local at, step = is_down and #timed or 1, is_down and -1 or 1
  while timed[at] do
    if hops <= 0 then return answer(position()) end
    local candidates = {}
    while timed[at] and #candidates < 200 do
      table.insert(candidates, is_down and 1 or #candidates + 1, text_of(timed[at]))
      at = at + step
    end
    hops = hops - LEAF_HOPS - #candidates * (#sets + #without + 1)
    if take(candidates) then return answer(position()) end
  end
  return answer()
end

while hops > 0 do
  if lowest > highest then return answer() end
  if not pass_leaf() then
    local count = limit == 0 and 200 or math.max(16, math.min(200, 2 * (skip + limit - #page)))
    local candidates, following = next_candidates(count)
    hops = hops - 2 * LEAF_HOPS - #candidates * (#sets + #without)
    if #candidates > 0 and take(candidates) then return answer(position()) end
    is_at_leaf = #candidates < count
    if is_at_leaf then
      if not following then return answer() end
      if is_down then highest = following else lowest = following end
    end
    -- Continues at the farthest of the ids that the other sets have next.
    local ahead = position()
    for place = 2, #sets do
      local id = next_in(sets[place])
      if not id then return answer() end
      ahead = is_down and math.min(ahead, id) or math.max(ahead, id)
    end
    if is_down then highest = ahead else lowest = ahead end
  end
end
return answer(position())
