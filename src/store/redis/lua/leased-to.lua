#!lua flags=no-writes
-- Reads contexts whose step a server runs.
--
-- Keys  running
-- ARGV[1]  its boot id
--
-- Returns
--   {ids…}
return redis.call('ZRANGE', running(ARGV[1]), 0, -1)
