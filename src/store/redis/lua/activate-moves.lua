#!lua
-- Keeps the feed of moves of the namespace active. Where it was not, it begins anew: no server has appended what came before.
--
-- Keys  moves_begin, moves_earlier, moves_feed, moves_versions
-- ARGV[1]  milliseconds for which it stays active
-- ARGV[2]  milliseconds for which it is kept
--
-- Returns
--   {since, newest}  the place where it began, and that of its newest entry
local since = redis.call('GET', moves_begin)
if not since then
  since = redis.call('XADD', moves_feed, '*', 'b', '1')
  redis.call('DEL', moves_versions, moves_earlier)
end
redis.call('SET', moves_begin, since, 'PX', ARGV[1])
redis.call('PEXPIRE', moves_feed, ARGV[2])
local newest = redis.call('XREVRANGE', moves_feed, '+', '-', 'COUNT', 1)[1]
return { since, newest and newest[1] or since }
