#!lua flags=no-writes
-- Reads contexts in the order of their ids in ARGV, at least the first.
--
-- Keys  context, packed
-- ARGV[1]  bytes after which no more are read, so that other commands are served
-- ARGV[2…] ids
--
-- Returns
--   {contexts…}  one for each context that was read: its text; or a list of names and values of its hash,
--                empty when there is none; 'err' and a message when the key holds something else
local bytes, found = tonumber(ARGV[1]), {}
for place = 2, #ARGV do
  local row = redis.pcall('GET', packed(ARGV[place])) or redis.pcall('HGETALL', context(ARGV[place]))
  if type(row) == 'table' and row.err then row = { 'err', row.err } end
  found[#found + 1] = row
  if #ARGV > 2 then bytes = bytes - (type(row) == 'string' and #row or 0) end
  for place = 1, #ARGV > 2 and type(row) == 'table' and #row or 0 do bytes = bytes - #row[place] end
  if bytes < 0 then break end
end
return found
