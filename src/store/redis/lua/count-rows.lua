#!lua flags=no-writes
-- Counts the rows of a space, expired ones included.
--
-- Keys  expiries
-- ARGV[1]  space
--
-- Returns
--   the number
return redis.call('ZCARD', expiries(ARGV[1]))
