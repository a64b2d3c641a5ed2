#!lua flags=no-writes
-- Reads ids of contexts, ascending or descending: for each of several lists of keys those of the contexts that have all
-- of them, none of some other keys, and times in a range. Stops early when it has examined many, so that other commands
-- are served.
--
-- - One list without times is passed leaf by leaf. A leaf in which no context is left out is skipped by its size.
-- - Else candidates are read from the smallest set, or from the times where few contexts have such a time, and looked up
--   in the other sets. The walk then goes on at the farthest of the ids that the other sets have next.
--
-- Keys  all, context, due, ended, packed, index_key
-- ARGV[1]  the lowest id
-- ARGV[2]  the highest
-- ARGV[3]  how many matches of each list to skip
-- ARGV[4]  how many ids of each list; 0: matches are only skipped, which counts them
-- ARGV[5]  how many candidates may be examined for each list
-- ARGV[6]  1: by descending id, else 0
-- ARGV[7]  due before this time; empty: it doesn't matter
-- ARGV[8]  the lowest score among those that ended, as ZCOUNT takes it; empty: it doesn't matter
-- ARGV[9]  the highest
-- ARGV[10]  number of keys that they must not have
-- ARGV[11…] those keys; then for each list the number of its keys, and the keys; all contexts have all of no keys
--
-- Returns
--   {{from, skip, ids…}…}  for each list: where to continue and how many matches to skip there; from is empty when there
--                          are no more
local lowest, highest, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local is_down, due_before, ended_from, ended_to = ARGV[6] == '1', tonumber(ARGV[7]), ARGV[8], ARGV[9]
local has_times = due_before or ended_from ~= ''
-- The cost of reading a leaf, in candidates.
local LEAF_HOPS = 24
-- Candidates that are looked up at once.
local MOST_CANDIDATES = 200
-- Those with such a time are sorted by id when they are no more than these.
local MOST_TIMED = 1000
-- Up to this time from now, a claim may hide when a context is due.
local CLAIM_MS = 60000
local step = is_down and -1 or 1

local function is_within(id) return id and id >= lowest and id <= highest end
local function is_before(one, other) return step * one < step * other end

-- What is found for a list: the ids; where it stands; what is left to skip, and to examine.
local page, at, skip, hops
-- The sets of a list, the smallest first.
local sets
local size = {}
local function sized(name)
  size[name] = size[name] or size_of(name)
  return name
end
local without, place = {}, 11
while place < 11 + ARGV[10] do
  local name = sized(index_key(ARGV[place]))
  if size[name] > 0 then without[#without + 1] = name end
  place = place + 1
end

-- The first ids of a leaf from an id on; -1: all of them.
local function some_of(name, first, from, count)
  if not is_down then return ids_between(name, first, from, highest, count) end
  if not first then return ranked_down(name, from, lowest, count) end
  local some, found = ids_between(name, first, lowest, from, -1), {}
  for each = #some, 1, -1 do
    if #found == count then break end
    found[#found + 1] = some[each]
  end
  return found
end

-- The leaf of an id, and the id from which on the next leaf is looked for; nil: there is none.
local function leaf_from(name, id)
  local first = leaf_of(name, text_of(id))
  if is_down then return first, first and tonumber(first) - 1 end
  return first, tonumber(leaves_after(name, id, highest, 1)[1])
end

local function next_in(name, id)
  while is_within(id) do
    local first, following = leaf_from(name, id)
    local found = some_of(name, first, id, 1)[1]
    hops = hops - LEAF_HOPS
    if found then return tonumber(found) end
    id = following
  end
end

-- The first excluded id from an id on. It is remembered until it is passed.
local stop, is_stop_known
local function excluded_from(id)
  if is_stop_known and not (stop and is_before(stop, id)) then return stop end
  stop, is_stop_known = nil, true
  for _, name in ipairs(without) do
    local found = next_in(name, id)
    if found and not (stop and is_before(stop, found)) then stop = found end
  end
  return stop
end

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

local claimed_up_to = due_before and milliseconds() + CLAIM_MS
-- The candidates whose times are in the ranges.
local function in_time(candidates)
  local has = {}
  for _, id in ipairs(candidates) do has[id] = true end
  if ended_from ~= '' then
    local from, to = tonumber((string.gsub(ended_from, '%(', ''))), tonumber((string.gsub(ended_to, '%(', '')))
    for each, score in ipairs(redis.call('ZMSCORE', ended, unpack(candidates))) do
      local time = score and tonumber(score)
      if not time or from and time <= from or to and time >= to then has[candidates[each]] = nil end
    end
  end
  if due_before then
    for each, score in ipairs(redis.call('ZMSCORE', due, unpack(candidates))) do
      local id, time = candidates[each], score and tonumber(score)
      if has[id] and time and time <= claimed_up_to then
        hops = hops - 4
        time = due_of(id)
      end
      if not time or time >= due_before then has[id] = nil end
    end
  end
  return has
end

-- The contexts that may have such a time, in order, when there are few: they are the candidates.
local timed
local function few(key, from, to)
  local count = redis.call('ZCOUNT', key, from, to)
  if count > MOST_TIMED or count >= size[sets[1]] or timed and count >= #timed then return end
  timed = {}
  for _, id in ipairs(redis.call('ZRANGE', key, from, to, 'BYSCORE')) do
    local number = tonumber(id)
    if is_within(number) then timed[#timed + 1] = number end
  end
  table.sort(timed, is_before)
end

-- Takes the candidates that match; true when the page is complete.
local function take(candidates)
  if #candidates == 0 then return end
  local checked, unwanted = {}, {}
  for each = timed and 1 or 2, #sets do checked[#checked + 1] = members(sets[each], candidates) end
  if has_times then checked[#checked + 1] = in_time(candidates) end
  for each, name in ipairs(without) do unwanted[each] = members(name, candidates) end
  for _, candidate in ipairs(candidates) do
    local agreed = true
    for _, has in ipairs(checked) do agreed = agreed and has[candidate] end
    for _, has in ipairs(unwanted) do agreed = agreed and not has[candidate] end
    at = candidate + step
    if agreed and skip > 0 then skip = skip - 1
    elseif agreed then page[#page + 1] = candidate end
    if limit > 0 and #page == limit then return true end
  end
end

-- Takes the candidates that have the times; gives where to continue.
local function walk_timed()
  for begin = 1, #timed, MOST_CANDIDATES do
    if hops <= 0 then return at end
    local candidates = {}
    for each = begin, math.min(begin + MOST_CANDIDATES - 1, #timed) do
      candidates[#candidates + 1] = text_of(timed[each])
    end
    hops = hops - LEAF_HOPS - #candidates * (#sets + #without + 1)
    if take(candidates) then return at end
  end
end

-- Skips or takes all ids of a leaf. Members that are no ids are left out.
local function pass(first, is_whole)
  local count = is_whole and skip > 0 and count_of(sets[1], first)
  if count and count <= skip then
    skip = skip - count
    return
  end
  hops = hops - LEAF_HOPS
  for _, id in ipairs(some_of(sets[1], first, at, limit == 0 and -1 or skip + limit - #page)) do
    if skip > 0 then skip = skip - 1
    elseif tonumber(id) then page[#page + 1] = id end
  end
end

-- Walks through the smallest set; gives where to continue.
local function walk()
  -- Whether it stands where a leaf begins.
  local is_at_edge = is_down and highest >= 2 ^ 53 - 2
  while hops > 0 do
    if not is_within(at) then return end
    local first, following = leaf_from(sets[1], at)
    local is_plain = #sets == 1 and not has_times
    local stops = is_plain and excluded_from(at)
    local is_cut = stops and (not following or is_before(stops, following))
    if is_plain and not is_cut then
      hops = hops - 2
      local is_whole = first and (is_down and is_at_edge and tonumber(first) >= lowest
        or not is_down and following and at <= tonumber(first))
      pass(first, is_whole)
      if limit > 0 and #page == limit then return page[#page] + step end
      at, is_at_edge = following, true
    else
      local count = math.max(16, math.min(MOST_CANDIDATES, 2 * (skip + limit - #page)))
      local candidates = some_of(sets[1], first, at, count)
      hops = hops - 2 * LEAF_HOPS - #candidates * math.max(1, #sets - 1 + #without)
      if take(candidates) then return at end
      is_at_edge = #candidates < count
      if is_at_edge then at = following end
      for each = 2, #sets do at = at and next_in(sets[each], at) end
      is_at_edge = is_at_edge and #sets == 1
    end
  end
  return at
end

local function answer()
  local where
  if size[sets[1]] > 0 and not (limit > 0 and skip >= size[sets[1]]) then
    if ended_from ~= '' then few(ended, ended_from, ended_to) end
    if due_before then few(due, '-inf', text_of(math.max(due_before, claimed_up_to))) end
    if timed then where = walk_timed() else where = walk() end
  end
  return { where and text_of(where) or '', skip, unpack(page) }
end

local answers = {}
while place <= #ARGV do
  local last = place + ARGV[place]
  sets, timed, page, stop, is_stop_known = {}, nil, {}, nil, false
  at, skip, hops = is_down and highest or lowest, tonumber(ARGV[3]), tonumber(ARGV[5])
  for each = place + 1, last do sets[#sets + 1] = sized(index_key(ARGV[each])) end
  if #sets == 0 then sets[1] = sized(all) end
  table.sort(sets, function(one, other) return size[one] < size[other] end)
  answers[#answers + 1] = answer()
  place = last + 1
end
return answers
