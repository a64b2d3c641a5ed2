#!lua
-- Appends moves to the feed of the namespace: those of one context in the order of its versions.
--
-- Keys  moves_earlier, moves_feed, moves_versions
-- ARGV[1]  how many moves are kept
-- ARGV[2]  milliseconds for which the feed is kept
-- ARGV[3…] for each move: context, version, mode, facts, message. Mode 'w': it waits for the version before, which another
--          server may not have appended yet; 'a': it does not; 'r': it may have been appended already; 'g': no move, but
--          a note that messages are missing
--
-- Returns
--   {places…}  from 0, of the moves that wait
local waiting, has_large = {}, false
-- Bytes that the feed may take: it keeps fewer moves where they are large.
local MAX_BYTES = 134217728

-- The newest version of a context in the feed, and the first and the last of those that were not there when it was
-- appended; the newest is 0 where it is not known.
local function known_of(id)
  local text = redis.call('HGET', moves_versions, id) or redis.call('HGET', moves_earlier, id) or ''
  local newest, first, last = string.match(text, '^(%d+) ?(%d*) ?(%d*)$')
  return tonumber(newest) or 0, tonumber(first) or 0, tonumber(last) or -1
end

local function note(id, newest, first, last)
  redis.call('HSET', moves_versions, id, first > last and newest or newest .. ' ' .. first .. ' ' .. last)
end

for at = 3, #ARGV, 5 do
  local id, version, mode = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  if mode == 'g' then
    redis.call('XADD', moves_feed, '*', 'g', '1')
  else
    local newest, first, last = known_of(id)
    local is_missing = version >= first and version <= last
    if mode == 'w' and version > newest + 1 then
      waiting[#waiting + 1] = (at - 3) / 5
    elseif mode ~= 'r' or version > newest or is_missing then
      redis.call('XADD', moves_feed, '*', 'f', ARGV[at + 3], 'm', ARGV[at + 4])
      has_large = has_large or #ARGV[at + 4] > 4096
      if version > newest + 1 then note(id, version, newest + 1, version - 1)
      elseif version > newest then note(id, version, first, last)
      elseif is_missing then note(id, newest, version + 1, last) end
    end
  end
end
redis.call('XTRIM', moves_feed, 'MAXLEN', ARGV[1])
if has_large and redis.call('MEMORY', 'USAGE', moves_feed) > MAX_BYTES then
  redis.call('XTRIM', moves_feed, 'MAXLEN', math.floor(redis.call('XLEN', moves_feed) / 2))
end
-- The contexts that were committed lately are known; the others may be forgotten.
if redis.call('HLEN', moves_versions) > 20000 then redis.call('RENAME', moves_versions, moves_earlier) end
for _, key in ipairs({ moves_feed, moves_versions, moves_earlier }) do redis.call('PEXPIRE', key, ARGV[2]) end
return waiting
