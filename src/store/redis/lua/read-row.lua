#!lua flags=no-writes
-- Reads a row, unless it is expired.
--
-- Keys  stored_row
-- ARGV[1]  space
-- ARGV[2]  key
--
-- Returns
--   the text that it is (`row-text.lua`); false when there is none
local text = redis.call('GET', stored_row(ARGV[1], ARGV[2]))
return text and not is_expired(text, milliseconds()) and text
