#!lua flags=no-writes
-- Reads the newest rows of a context's log, in ascending order.
--
-- Keys  log
-- ARGV[1]  id
-- ARGV[2]  how many, at least 1
--
-- Returns
--   {rows…}
return redis.call('LRANGE', log(ARGV[1]), -ARGV[2], -1)
