#!lua
-- Gives out ids, as numbers counted from 1 in each partition. Sent twice, it leaves a gap.
-- A Redis that was started anew, or took the place of another, may have forgotten the last ids: some are passed over, once for all servers.
--
-- Keys  giver, ids
-- ARGV[1]  how many
-- ARGV[2]  how many are passed over
-- ARGV[3]  run id of the Redis that gave ids to the caller last; empty: none did
--
-- Returns
--   {number, run id}  the last one given out, and of this Redis
local count, gap, known = unpack(ARGV, 1, 3)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local last = redis.call('GET', giver) or known
if last ~= run then
  if last ~= '' then redis.call('INCRBY', ids, gap) end
  redis.call('SET', giver, run)
end
return { redis.call('INCRBY', ids, count), run }
