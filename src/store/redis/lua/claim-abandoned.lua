#!lua
-- Claims contexts whose server is dead, and those whose step is ready. The steps of a dead server become unowned.
--
-- Keys  context, dead, owners, packed, running
-- ARGV[1]  how many
-- ARGV[2]  milliseconds for which they are hidden from other claims
-- ARGV[3]  milliseconds without heartbeat after which a server is declared dead; empty: none is
-- ARGV[4…] owners whose ready steps are claimed
--
-- Returns
--   {id, owner, …}  each with the owner of its step
local limit, hide_for, dead_after = unpack(ARGV, 1, 3)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local text = function(milliseconds) return string.format('%.0f', milliseconds) end

if dead_after ~= '' then
  for _, owner in ipairs(redis.call('ZRANGE', owners, '-inf', text(now - dead_after), 'BYSCORE')) do
    redis.call('ZUNIONSTORE', running(unowned), 2, running(unowned), running(owner), 'AGGREGATE', 'MAX')
    redis.call('DEL', running(owner))
    redis.call('ZREM', owners, owner)
    redis.call('ZADD', dead, text(now), owner)
  end
  -- Forgets those after a day: a server that comes back after that has a new boot id.
  redis.call('ZREMRANGEBYSCORE', dead, '-inf', text(now - 86400000))
end

local claimed = {}
local function claim_of(list, id)
  redis.call('ZADD', running(list), text(now + hide_for), id)
  local kept, owner = redis.pcall('GET', packed(id)), nil
  if type(kept) == 'string' then
    local _, _, _, _, facts = unpacked(kept)
    _, owner = facts_of(facts or '')
  else
    owner = redis.pcall('HGET', context(id), 'o')
  end
  claimed[#claimed + 1], claimed[#claimed + 2] = id, type(owner) == 'string' and owner or ''
end

for place = 3, #ARGV do
  local list = place == 3 and unowned or ARGV[place]
  local rest = limit - #claimed / 2
  if rest > 0 then
    for _, id in ipairs(redis.call('ZRANGE', running(list), '-inf', text(now), 'BYSCORE', 'LIMIT', 0, rest)) do
      claim_of(list, id)
    end
  end
end
return claimed
