#!lua flags=no-writes
-- Reads the version of a context.
--
-- Keys  context
-- ARGV[1]  id
--
-- Returns
--   version  or nil when there is none
return redis.call('HGET', context(ARGV[1]), 'v')
