#!lua flags=no-writes
-- Reads the version of a context.
--
-- Keys  context, packed
-- ARGV[1]  id
--
-- Returns
--   version  or nil when there is none
-- 31 digits are more than any version has.
local version = string.match(redis.call('GETRANGE', packed(ARGV[1]), 0, 31), '^([^\31]*)\31')
return version or redis.call('HGET', context(ARGV[1]), 'v')
