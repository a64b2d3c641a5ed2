#!lua flags=no-writes
-- Reads contexts whose step a server runs.
--
-- Keys  running
-- ARGV[1]  its boot id
-- ARGV[2]  how many to skip
-- ARGV[3]  how many, at least 1
--
-- Returns
--   {ids…}
return redis.call('ZRANGE', running(ARGV[1]), ARGV[2], ARGV[2] + ARGV[3] - 1)
