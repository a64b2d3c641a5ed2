#!lua
-- Appends moves to the feed of the namespace: those of one context in the order of its versions.
-- KEYS[1]: the prefix of the keys of the feed. ARGV: how many moves are kept; milliseconds for which the feed is kept;
-- then for each move: context, version, mode, facts, message.
-- Mode 'w': it waits for the version before, which another server may not have appended yet; 'a': it does not; 'r': it
-- may have been appended already; 'g': no move, but a note that messages are missing.
-- Returns the places, from 0, of those that wait.
local feed, versions, earlier = root .. 's', root .. 'v', root .. 'w'
local waiting = {}
for at = 3, #ARGV, 5 do
  local id, version, mode = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  if mode == 'g' then
    redis.call('XADD', feed, '*', 'g', '1')
  else
    local known = tonumber(redis.call('HGET', versions, id) or redis.call('HGET', earlier, id) or 0)
    if mode == 'w' and version > known + 1 then
      waiting[#waiting + 1] = (at - 3) / 5
    elseif mode ~= 'r' or version > known then
      redis.call('XADD', feed, '*', 'f', ARGV[at + 3], 'm', ARGV[at + 4])
      if version > known then redis.call('HSET', versions, id, version) end
    end
  end
end
redis.call('XTRIM', feed, 'MAXLEN', ARGV[1])
-- The contexts that were committed lately are known; the others may be forgotten.
if redis.call('HLEN', versions) > 20000 then redis.call('RENAME', versions, earlier) end
for _, key in ipairs({ feed, versions, earlier }) do redis.call('PEXPIRE', key, ARGV[2]) end
return waiting
