#!lua
-- Keeps the feed of the namespace active. Where it was not, it begins anew: nobody has appended what came before.
-- KEYS[1]: the prefix of the keys of the feed. ARGV: milliseconds for which it stays active; for which it is kept.
-- Returns the place where it began, and that of its newest entry.
local feed, active = root .. 's', root .. 'on'
local since = redis.call('GET', active)
if not since then
  since = redis.call('XADD', feed, '*', 'b', '1')
  redis.call('DEL', root .. 'v', root .. 'w')
end
redis.call('SET', active, since, 'PX', ARGV[1])
redis.call('PEXPIRE', feed, ARGV[2])
local newest = redis.call('XREVRANGE', feed, '+', '-', 'COUNT', 1)[1]
return { since, newest and newest[1] or since }
