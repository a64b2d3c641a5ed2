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
local goes, stayed = {}, 0
for _, id in ipairs(redis.call('ZRANGE', ended, '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[3], ARGV[2])) do
  local parent = redis.call('HGET', context(id), 'p')
  if parent and parent ~= '' and redis.call('HGET', context(parent), 'k') == '1' then stayed = stayed + 1
  else goes[#goes + 1] = id end
end

for _, id in ipairs(goes) do
  local terms, owner = unpack(redis.call('HMGET', context(id), 't', 'o'))
  for _, word in ipairs(cjson.decode(terms or '[]')) do redis.call('ZREM', term(word), id) end
  if owner and owner ~= '' then redis.call('ZREM', running(owner), id) redis.call('ZREM', running(nobody), id) end
  for _, key in ipairs({ due, ended, all }) do redis.call('ZREM', key, id) end
  redis.call('DEL', context(id), log(id))
end
return { #goes, stayed }
