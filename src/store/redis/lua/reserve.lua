#!lua
-- Gives out ids, as numbers counted from 1 in each partition. Sent twice, it leaves a gap.
--
-- Keys  ids
-- ARGV[1]  how many
--
-- Returns
--   number  the last one given out
return redis.call('INCRBY', ids, ARGV[1])
