#!lua flags=allow-oom
-- Deletes expired rows, those of each space that expired first. May run when the memory is full: it makes room.
--
-- Keys  expiries, row_keys, stored_row
-- ARGV[1]  expired up to this time, milliseconds, and by the clock of this Redis
-- ARGV[2]  how many
-- ARGV[3…] spaces
--
-- Returns
--   the number of those that were deleted
local now, left = math.min(tonumber(ARGV[1]), milliseconds()), tonumber(ARGV[2])
for place = 3, #ARGV do
  local space = ARGV[place]
  local keys = redis.call('ZRANGE', expiries(space), '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, left)
  for _, key in ipairs(keys) do
    redis.call('DEL', stored_row(space, key))
    redis.call('ZREM', expiries(space), key)
    redis.call('ZREM', row_keys(space), key)
  end
  left = left - #keys
end
return tonumber(ARGV[2]) - left
