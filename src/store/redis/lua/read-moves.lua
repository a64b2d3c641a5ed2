#!lua flags=no-writes
-- Reads the moves of the feed behind a place, at one moment: nothing is trimmed meanwhile.
--
-- Keys  moves_begin, moves_feed
-- ARGV[1]  the place; empty: no place is known
-- ARGV[2]  how many moves
-- ARGV[3]  characters after which it ends, about; it gives one move at least
--
-- Returns
--   {since, newest, known, entries}  the place where the feed began, and that of its newest entry, each empty without one;
--                                    whether everything behind the place is kept (1); if it is not, the oldest are given
local after, limit, left = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- Entries that are looked at, at once, to see how long they are.
local PIECE = 25

local function is_before(one, other)
  local time, number = string.match(one, '^(%d+)-(%d+)$')
  local other_time, other_number = string.match(other, '^(%d+)-(%d+)$')
  if time ~= other_time then return tonumber(time) < tonumber(other_time) end
  return tonumber(number) < tonumber(other_number)
end

local since = redis.call('GET', moves_begin)
local newest = redis.call('XREVRANGE', moves_feed, '+', '-', 'COUNT', 1)[1]
local is_known = since and after ~= '' and not is_before(after, since)
  and #redis.call('XRANGE', moves_feed, after, after) == 1
local entries, from = {}, is_known and after or since
while from and #entries < limit and left > 0 do
  local some = redis.call('XRANGE', moves_feed, '(' .. from, '+', 'COUNT', math.min(PIECE, limit - #entries))
  if #some == 0 then break end
  for _, entry in ipairs(some) do
    if left <= 0 then break end
    entries[#entries + 1] = entry
    for _, text in ipairs(entry[2]) do left = left - #text end
    from = entry[1]
  end
end
return { since or '', newest and newest[1] or '', is_known and 1 or 0, entries }
