#!lua flags=no-writes
-- Reads ids of contexts that have any of some words, ascending, each once.
--
-- Keys  term
-- ARGV[1]  ids above this one
-- ARGV[2]  and up to this one
-- ARGV[3]  how many
-- ARGV[4…] words
--
-- Returns
--   {ids…}
local after, up_to, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local found, known = {}, {}
for place = 4, #ARGV do
  local name, left = term(ARGV[place]), limit
  local leaf, following = leaf_from(name, after, up_to)
  while leaf do
    local ids = redis.call('ZRANGE', leaf, '(' .. after, up_to, 'BYSCORE', 'LIMIT', 0, left)
    for _, id in ipairs(ids) do
      if not known[id] then found[#found + 1] = id end
      known[id] = true
    end
    left, leaf = left - #ids, nil
    if left > 0 and following then leaf, following = leaf_from(name, following, up_to) end
  end
end
-- What is no id is passed over by the caller.
table.sort(found, function(one, other) return (tonumber(one) or 0) < (tonumber(other) or 0) end)
for place = #found, limit + 1, -1 do found[place] = nil end
return found
