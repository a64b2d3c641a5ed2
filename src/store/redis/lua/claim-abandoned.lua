#!lua
-- Claims contexts whose server is dead. What a dead server leaves becomes nobody's.
--
-- Keys  context, dead, owners, running
-- ARGV[1]  how many
-- ARGV[2]  milliseconds for which they are hidden from other claims
-- ARGV[3]  milliseconds without heartbeat after which a server is dead; empty: don't judge
--
-- Returns
--   {id, owner, …}  each with whom its step is leased to
local limit, hide_for, silence = unpack(ARGV, 1, 3)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(milliseconds) return string.format('%.0f', milliseconds) end

if silence ~= '' then
  for _, owner in ipairs(redis.call('ZRANGE', owners, '-inf', text(now - silence), 'BYSCORE')) do
    redis.call('ZUNIONSTORE', running(nobody), 2, running(nobody), running(owner), 'AGGREGATE', 'MAX')
    redis.call('DEL', running(owner))
    redis.call('ZREM', owners, owner)
    redis.call('ZADD', dead, text(now), owner)
  end
  -- Whoever comes back after a day has a new boot id.
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', text(now - 86400000))
end

local claimed = {}
for _, id in ipairs(redis.call('ZRANGE', running(nobody), '-inf', text(now), 'BYSCORE', 'LIMIT', 0, limit)) do
  redis.call('ZADD', running(nobody), text(now + hide_for), id)
  local owner = redis.pcall('HGET', context(id), 'o')
  claimed[#claimed + 1], claimed[#claimed + 2] = id, type(owner) == 'string' and owner or ''
end
return claimed
