#!lua flags=no-writes
-- Reads contexts, in their order, the first at least.
--
-- Keys  context
-- ARGV[1]  bytes after which no more are read: others want to be served, too
-- ARGV[2…] ids
--
-- Returns
--   {fields…}  one list a context that was read: names and values of its hash; empty when there is none; 'err' and a message when the key holds something else
local bytes, found = tonumber(ARGV[1]), {}
for place = 2, #ARGV do
  local fields = redis.pcall('HGETALL', context(ARGV[place]))
  if fields.err then fields = { 'err', fields.err } end
  found[#found + 1] = fields
  for place = 1, #ARGV > 2 and #fields or 0 do bytes = bytes - #fields[place] end
  if bytes < 0 then break end
end
return found
