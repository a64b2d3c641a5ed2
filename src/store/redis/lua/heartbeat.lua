#!lua flags=allow-oom
-- Records that a server is alive. May run when the memory is full, because the server is alive nevertheless.
--
-- Keys  dead, owners
-- ARGV[1]  its boot id
--
-- Returns
--   {1, now}  milliseconds
--   {0, now}  it had been declared dead
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('ZSCORE', dead, ARGV[1]) then return { 0, now } end
redis.call('ZADD', owners, now, ARGV[1])
return { 1, now }
