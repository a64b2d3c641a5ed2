#!lua
-- Gives out ids, as numbers counted from 1 in each partition. Sent twice, it leaves a gap.
-- A Redis that was started anew, or took the place of another, may have forgotten the last ids: some are passed over,
-- once for all servers. One that has forgotten more than that, or all, goes on from the last that a caller knows.
-- A caller that has been the only one for some time gets more than it asked for, ahead (see commit.lua).
--
-- Keys  ids, issuer, taker
-- ARGV[1]  how many
-- ARGV[2]  how many are passed over
-- ARGV[3]  run id of the Redis that gave ids to the caller last; empty: none did
-- ARGV[4]  number of the last id that the caller knows to have been given out; 0: none
-- ARGV[5]  who asks: letters, digits, '-' and '_'
-- ARGV[6]  how many are given ahead
-- ARGV[7]  milliseconds for which nobody else may have asked then
--
-- Returns
--   {number, run id, ahead}  the last one given out, of this Redis, and how many were given ahead
local count, gap, known, highest, caller, ahead, alone = unpack(ARGV, 1, 7)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local last = redis.call('GET', issuer) or known
local forgotten = tonumber(highest) > tonumber(redis.call('GET', ids) or 0)
if forgotten then redis.call('SET', ids, highest) end
-- Other servers may know of later ones than this caller.
if forgotten or (last ~= run and last ~= '') then redis.call('INCRBY', ids, gap) end
if last ~= run then redis.call('SET', issuer, run) end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before, since = string.match(redis.call('GET', taker) or '', '^(.*):(%d+)$')
-- A time that is still to come was told before the clock was set back.
if before ~= caller or tonumber(since) > now then
  since = now
  redis.call('SET', taker, caller .. ':' .. string.format('%.0f', now))
end
if now - since < tonumber(alone) then ahead = 0 end
return { redis.call('INCRBY', ids, count + ahead), run, tonumber(ahead) }
