#!lua
-- Gives out ids, as numbers counted from 1 in each partition. Sent twice, it leaves a gap.
-- A Redis that was started anew, or took the place of another, may have forgotten the last ids: some are passed over, once for all servers. One that has forgotten
-- more than that, or all, goes on from the last that a caller knows.
--
-- Keys  ids, issuer
-- ARGV[1]  how many
-- ARGV[2]  how many are passed over
-- ARGV[3]  run id of the Redis that gave ids to the caller last; empty: none did
-- ARGV[4]  number of the last id that the caller knows to have been given out; 0: none
--
-- Returns
--   {number, run id}  the last one given out, and of this Redis
local count, gap, known, highest = unpack(ARGV, 1, 4)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local last = redis.call('GET', issuer) or known
local forgotten = tonumber(highest) > tonumber(redis.call('GET', ids) or 0)
if forgotten then redis.call('SET', ids, highest) end
-- Other servers may know of later ones than this caller.
if forgotten or (last ~= run and last ~= '') then redis.call('INCRBY', ids, gap) end
if last ~= run then redis.call('SET', issuer, run) end
return { redis.call('INCRBY', ids, count), run }
