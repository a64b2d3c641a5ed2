#!lua flags=no-writes
-- Lists the servers whose heartbeats the partition has.
--
-- Keys  owners
--
-- Returns
--   {now, id, beat…}  milliseconds; then the id and the last heartbeat of each server, 1,000 servers at most
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('ZREVRANGE', owners, 0, 999, 'WITHSCORES')
table.insert(found, 1, now)
return found
