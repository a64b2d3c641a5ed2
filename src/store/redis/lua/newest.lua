#!lua flags=no-writes
-- Finds the highest id of a context that has a key.
--
-- Keys  index_key
-- ARGV[1]  key
--
-- Returns
--   {id}  empty when there is none
return { highest_id(index_key(ARGV[1])) }
