#!lua flags=no-writes
-- Finds the highest id of a context.
--
-- Keys  all
--
-- Returns
--   {id}  empty when there is no context
local last = leaf_of(all, '+inf')
if not last then return ranked(all, -1, -1) end
local found = ids_of(all, last)
return { found[#found] }
