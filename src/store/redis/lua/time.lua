#!lua flags=no-writes
-- Reads the clock.
--
-- Returns
--   {now}  milliseconds
local time = redis.call('TIME')
return { time[1] * 1000 + math.floor(time[2] / 1000) }
