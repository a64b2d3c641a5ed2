-- Sends the calls of a file again and again, each a line: method, path, body, separated by tabs. Prints what was seen as
-- a line of JSON.
--
-- args[1]  the file
-- args[2]  index of the call to begin with, from 0 on
local requests, at = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, body = string.match(line, '^(%u+)\t([^\t]*)\t(.*)$')
    local headers = body ~= '' and { ['Content-Type'] = 'application/json' } or {}
    requests[#requests + 1] = wrk.format(method, path, headers, body ~= '' and body or nil)
  end
  at = tonumber(args[2])
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"calls":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f,"errors":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
