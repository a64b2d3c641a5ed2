#!lua flags=no-writes
-- Reads rows of a listed space that aren't expired, by the bytes of their keys.
--
-- Keys  row_keys, stored_row
-- ARGV[1]  space
-- ARGV[2]  what the keys begin with
-- ARGV[3]  key to begin at
-- ARGV[4]  1 when the one with that key is passed over, else 0
-- ARGV[5]  how many to look at
-- ARGV[6]  bytes after which no more are read: others want to be served, too
--
-- Returns
--   {last, key, text, …}  the last key that was looked at, empty when there are no more; keys and texts of the rows
local space, prefix, from, passed, look, bytes = unpack(ARGV, 1, 6)
local first, now = (passed == '1' and '(' or '[') .. from, milliseconds()
local keys = redis.call('ZRANGE', row_keys(space), first, '(' .. prefix .. '\255', 'BYLEX', 'LIMIT', 0, look)
local found, read = { '' }, 0
for place, key in ipairs(keys) do
  local text = redis.pcall('GET', stored_row(space, key))
  if type(text) == 'string' and not is_expired(text, now) then
    found[#found + 1], found[#found + 2] = key, text
    read = read + #text
  end
  if place == tonumber(look) or read > tonumber(bytes) then
    found[1] = key
    break
  end
end
return found
