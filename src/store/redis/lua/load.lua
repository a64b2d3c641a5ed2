#!lua flags=no-writes
-- Reads contexts.
--
-- Keys  context
-- ARGV[1…] ids
--
-- Returns
--   {fields…}  one list a context: names and values of its hash; empty when there is none; 'err' and a message when the key holds something else
local found = {}
for place, id in ipairs(ARGV) do
  local fields = redis.pcall('HGETALL', context(id))
  found[place] = fields.err and { 'err', fields.err } or fields
end
return found
