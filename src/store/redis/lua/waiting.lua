#!lua flags=no-writes
-- Reads ids of contexts that have any of some keys and none of others, ascending, each once.
--
-- Keys  index_key
-- ARGV[1]  ids above this one
-- ARGV[2]  and up to and including this one
-- ARGV[3]  how many to look at
-- ARGV[4]  number of keys that they must not have
-- ARGV[5…] those keys, then the keys of which they have one
--
-- Returns
--   {last, ids…}  the last id that was looked at, empty when there are no more
local after, up_to, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local first = 5 + ARGV[4]
local found, known, without = {}, {}, {}
for place = first, #ARGV do
  for _, id in ipairs(first_ids(index_key(ARGV[place]), after + 1, up_to, limit)) do
    if not known[id] then found[#found + 1] = id end
    known[id] = true
  end
end
-- The caller skips members that are no ids.
table.sort(found, function(one, other) return (tonumber(one) or 0) < (tonumber(other) or 0) end)
for place = #found, limit + 1, -1 do found[place] = nil end
for place = 5, first - 1 do
  local name = index_key(ARGV[place])
  if size_of(name) > 0 then without[#without + 1] = name end
end
local page = { #found == limit and tonumber(found[limit]) and found[limit] or '' }
for _, id in ipairs(found) do
  local agreed = true
  for _, name in ipairs(without) do agreed = agreed and not contains(name, id) end
  if agreed then page[#page + 1] = id end
end
return page
