#!lua flags=no-writes
-- Reads contexts.
--
-- Keys  context
-- ARGV[1…] ids
--
-- Returns
--   {fields…}  one list a context: names and values of its hash; empty when there is none
local found = {}
for place, id in ipairs(ARGV) do found[place] = redis.call('HGETALL', context(id)) end
return found
