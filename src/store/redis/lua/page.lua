#!lua flags=no-writes
-- Reads ids of contexts that have all of some words and not another, by ascending id.
--
-- Keys  all, term
-- ARGV[1]  where to begin, as a bound of ZRANGE: '(7' above 7, '7' from 7 on
-- ARGV[2]  how many matches to pass over
-- ARGV[3]  how many ids, at least 1
-- ARGV[4]  how many candidates may be looked at: other requests want to be served too
-- ARGV[5]  the word that they must not have; empty: there is none
-- ARGV[6…] words; without any, all contexts match
--
-- Returns
--   {from, skip, ids…}  where to go on and how many matches to pass over then; from is empty when there are no more
local from, skip, limit, hops = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local page = {}

local function answer(where)
  return { where, skip, unpack(page) }
end

local sets = {}
for place = 6, #ARGV do sets[#sets + 1] = term(ARGV[place]) end
local without = ARGV[5] ~= '' and term(ARGV[5])

if #sets < 2 and not without then
  -- One set pages by rank.
  local key = sets[1] or all
  local above = string.match(from, '^%((.*)')
  local rank = skip + redis.call('ZCOUNT', key, '-inf', above or '(' .. from)
  page = redis.call('ZRANGE', key, rank, rank + limit - 1)
  skip = 0
  return answer(#page == limit and '(' .. page[limit] or '')
end

-- Several: the smallest leads, and whoever lacks its candidate says which is the next that it has.
if #sets == 0 then sets = { all } end
local sizes = {}
for _, key in ipairs(sets) do sizes[key] = redis.call('ZCARD', key) end
table.sort(sets, function(one, other) return sizes[one] < sizes[other] end)

local function at_or_after(key, bound)
  return redis.call('ZRANGE', key, bound, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
end

while #page < limit do
  local candidate = at_or_after(sets[1], from)
  if not candidate then return answer('') end
  from = '(' .. candidate
  local agreed = true
  for place = 2, #sets do
    hops = hops - 1
    if not redis.call('ZSCORE', sets[place], candidate) then
      from, agreed = at_or_after(sets[place], candidate), false
      if not from then return answer('') end
      break
    end
  end
  if without and agreed then
    hops = hops - 1
    agreed = not redis.call('ZSCORE', without, candidate)
  end
  if agreed and skip > 0 then skip = skip - 1
  elseif agreed then page[#page + 1] = candidate end
  if hops <= 0 then break end
end
return answer(from)
