#!lua
-- Issues ids, as numbers counted from 1 in each partition. If it is sent twice, there is a gap.
-- A Redis that was restarted, or replaced another one, may have lost the last ids: some are skipped, once for all
-- servers. One that has lost more than that, or all, continues after the last id that a caller knows.
-- A caller that has been the only one for some time gets more than it requested, ahead (see commit.lua).
--
-- Keys  ids, issuer, taker
-- ARGV[1]  how many
-- ARGV[2]  how many are skipped in that case
-- ARGV[3]  run id of the Redis that issued ids to the caller last; empty: none did
-- ARGV[4]  number of the last issued id that the caller knows; 0: none
-- ARGV[5]  the caller: letters, digits, '-' and '_'
-- ARGV[6]  how many are issued ahead
-- ARGV[7]  milliseconds for which no other caller may have requested ids then
--
-- Returns
--   {number, run id, ahead}  the number of the last issued id, the run id of this Redis, and how many were issued ahead
local count, gap, known, highest, caller, ahead, alone = unpack(ARGV, 1, 7)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local last = redis.call('GET', issuer) or known
local forgotten = tonumber(highest) > tonumber(redis.call('GET', ids) or 0)
if forgotten then redis.call('SET', ids, highest) end
-- Other servers may know later ids than this caller.
if forgotten or (last ~= run and last ~= '') then redis.call('INCRBY', ids, gap) end
if last ~= run then redis.call('SET', issuer, run) end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before, since = string.match(redis.call('GET', taker) or '', '^(.*):(%d+)$')
-- A time in the future was recorded before the clock was set back.
if before ~= caller or tonumber(since) > now then
  since = now
  redis.call('SET', taker, caller .. ':' .. string.format('%.0f', now))
end
if now - since < tonumber(alone) then ahead = 0 end
return { redis.call('INCRBY', ids, count + ahead), run, tonumber(ahead) }
