#!lua flags=allow-oom
-- Deletes contexts that finished before a time, with all that is known of them. One whose parent has yet to look at it stays.
-- May run when the memory is full: it makes room.
--
-- Keys  all, context, due, ended, log, running, term
-- ARGV[1]  finished before this, milliseconds
-- ARGV[2]  how many to look at
-- ARGV[3]  how many of them to pass over
--
-- Returns
--   {deleted, stayed}
-- One that is damaged goes, too, and keeps no other from it.
local function field(id, name)
  local value = redis.pcall('HGET', context(id), name)
  return type(value) == 'string' and value ~= '' and value or nil
end

local goes, stayed = {}, 0
for _, id in ipairs(redis.call('ZRANGE', ended, '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[3], ARGV[2])) do
  local parent = field(id, 'p')
  if parent and field(parent, 'k') == '1' then stayed = stayed + 1
  else goes[#goes + 1] = id end
end

for _, id in ipairs(goes) do
  local readable, words = pcall(cjson.decode, field(id, 't') or '[]')
  for _, word in ipairs(readable and type(words) == 'table' and words or {}) do redis.call('ZREM', term(tostring(word)), id) end
  local owner = field(id, 'o')
  if owner then redis.call('ZREM', running(owner), id) redis.call('ZREM', running(nobody), id) end
  for _, key in ipairs({ due, ended, all }) do redis.call('ZREM', key, id) end
  redis.call('DEL', context(id), log(id))
end
return { #goes, stayed }
