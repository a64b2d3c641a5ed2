-- Sends the calls of a file again and again, each a line: method, path, body, and headers as name=value, separated by
-- tabs. `{unique}` in a header is another text in each request. Prints what was seen as a line of JSON.
--
-- args[1]  the file
-- args[2]  index of the call to begin with, from 0 on
-- args[3]  a text that no other run has
local requests, at, sent, run = {}, 0, 0, ''

-- The parts before and after `{unique}`; the whole request alone if it has none.
local function split(text)
  local first, last = string.find(text, '{unique}', 1, true)
  if not first then return { text } end
  return { string.sub(text, 1, first - 1), string.sub(text, last + 1) }
end

function init(args)
  for line in io.lines(args[1]) do
    local method, path, body, rest = string.match(line, '^(%u+)\t([^\t]*)\t([^\t]*)(.*)$')
    local headers = {}
    for name, value in string.gmatch(rest, '\t([^\t=]+)=([^\t]*)') do headers[name] = value end
    requests[#requests + 1] = split(wrk.format(method, path, headers, body ~= '' and body or nil))
  end
  at = tonumber(args[2])
  run = args[3]
end

function request()
  at = at % #requests + 1
  local parts = requests[at]
  if not parts[2] then return parts[1] end
  sent = sent + 1
  return parts[1] .. run .. '-' .. sent .. parts[2]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"calls":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f,"errors":%d,"refused":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status
  ))
end
