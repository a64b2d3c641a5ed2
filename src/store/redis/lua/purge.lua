#!lua flags=allow-oom
-- Deletes contexts that finished before a time, with their index entries. A child stays until its parent has read it.
-- May run when the memory is full, because it frees memory.
--
-- Keys  all, context, due, ended, log, packed, running, index_key
-- ARGV[1]  finished before this, milliseconds
-- ARGV[2]  how many to examine
-- ARGV[3]  how many of them to skip
--
-- Returns
--   {deleted, stayed}
-- A field of a hash; empty when it cannot be read, so that a damaged context is deleted, too, and stops no other.
local function field(id, name)
  local value = redis.pcall('HGET', context(id), name)
  return type(value) == 'string' and value or ''
end

-- Whether a relative has notified it ('1'), its owner, its parent and its index keys.
local function read(id)
  local text = redis.pcall('GET', packed(id))
  if type(text) ~= 'string' then return field(id, 'k'), field(id, 'o'), field(id, 'p'), field(id, 't') end
  local _, notified, _, _, facts = unpacked(text)
  local _, owner, _, parent, index_keys = facts_of(facts or '')
  return notified, owner or '', parent or '', index_keys or ''
end

local goes, stayed = {}, 0
for _, id in ipairs(redis.call('ZRANGE', ended, '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', ARGV[3], ARGV[2])) do
  local _, owner, parent, index_keys = read(id)
  if parent ~= '' and read(parent) == '1' then stayed = stayed + 1
  else goes[#goes + 1] = { id = id, owner = owner, index_keys = index_keys } end
end

for _, one in ipairs(goes) do
  local id, owner = one.id, one.owner
  local readable, keys = pcall(cjson.decode, one.index_keys)
  -- A member that is no id is in no set of ids.
  if tonumber(id) then
    for _, key in ipairs(readable and type(keys) == 'table' and keys or {}) do remove(index_key(tostring(key)), id) end
    remove(all, id)
  end
  if owner ~= '' then redis.call('ZREM', running(owner), id) redis.call('ZREM', running(unowned), id) end
  for _, key in ipairs({ due, ended }) do redis.call('ZREM', key, id) end
  redis.call('DEL', context(id), packed(id), log(id))
end
return { #goes, stayed }
