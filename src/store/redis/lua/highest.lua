#!lua flags=no-writes
-- Finds the highest id of a context.
--
-- Keys  all
--
-- Returns
--   {id}  empty when there is no context
return { highest_id(all) }
