#!lua flags=no-writes
-- Reads ids of contexts that have any of some keys, ascending, each once.
--
-- Keys  index_key
-- ARGV[1]  ids above this one
-- ARGV[2]  and up to and including this one
-- ARGV[3]  how many
-- ARGV[4…] keys
--
-- Returns
--   {ids…}
local after, up_to, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local found, known = {}, {}
for place = 4, #ARGV do
  for _, id in ipairs(first_ids(index_key(ARGV[place]), after + 1, up_to, limit)) do
    if not known[id] then found[#found + 1] = id end
    known[id] = true
  end
end
-- The caller skips members that are no ids.
table.sort(found, function(one, other) return (tonumber(one) or 0) < (tonumber(other) or 0) end)
for place = #found, limit + 1, -1 do found[place] = nil end
return found
