-- A row is one text: when it expires, epoch milliseconds, empty if never; '\31'; its value.
local function is_expired(text, now)
  local bar = string.find(text, '\31', 1, true)
  local time = bar and tonumber(string.sub(text, 1, bar - 1))
  return time and time <= now
end

local function value_of(text) return string.sub(text, (string.find(text, '\31', 1, true) or 0) + 1) end
