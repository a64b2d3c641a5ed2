#!lua
-- Claims contexts that are due or notified, earliest first.
--
-- Keys  due
-- ARGV[1]  the present time, milliseconds, as estimated by the caller
-- ARGV[2]  how many
-- ARGV[3]  until when they are hidden from other claims
-- ARGV[4]  1 when the estimate is of this Redis's clock: it is then bounded by the clock, which may have been set back
--
-- Returns
--   {now, next, id, time, …}  milliseconds, by this Redis's clock; when the next one can be claimed, empty if none; ids, each with the time at which it could be
local time = redis.call('TIME')
local here = time[1] * 1000 + math.floor(time[2] / 1000)
local now = tonumber(ARGV[1])
if ARGV[4] == '1' and here < now then now = here end
local claimed = redis.call('ZRANGE', due, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
for place = 1, #claimed, 2 do redis.call('ZADD', due, ARGV[3], claimed[place]) end
return { here, redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or '', unpack(claimed) }
