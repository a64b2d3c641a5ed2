#!lua
-- Claims contexts that are due or poked, earliest first.
--
-- Keys  due
-- ARGV[1]  now, milliseconds
-- ARGV[2]  how many
-- ARGV[3]  until when they are hidden from other claims
--
-- Returns
--   {next, id, time, …}  when the next one can be claimed, empty if none; ids, each with the time at which it could be
local claimed = redis.call('ZRANGE', due, '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
for place = 1, #claimed, 2 do redis.call('ZADD', due, ARGV[3], claimed[place]) end
return { redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or '', unpack(claimed) }
