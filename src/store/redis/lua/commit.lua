#!lua
-- Makes all writes true, or none. A commit that is sent again is known by its number and not done twice. If it isn't known, it may have been decided on what
-- this Redis has forgotten: it is refused, and for good, should it still arrive as it was sent first. What only creates contexts was decided on nothing.
--
-- Keys  all, context, due, ended, log, owners, running, term
-- ARGV[1]  writer: letters, digits, '-' and '_'
-- ARGV[2]  number of the commit, counted by its writer
-- ARGV[3]  milliseconds for which a stale context is reserved for the writer, who has lost so often; 0: it isn't
-- ARGV[4]  1 when it was sent before, else 0
-- ARGV[5…] the writes, each: id, version before, terms, due, owner, ended at, parent, answers a poke (1 or 0), number of rows, rows,
--          number of texts that are set (two for a part), name and value of each, number of parts that are removed, names, number of pokes, ids
--
-- Returns
--   {0}                done
--   {1, id, fields}    another version is there, or what is there is damaged: names and values of the context's hash, empty when there is none
--   {2, milliseconds}  reserved for another writer so long
local writer, number, reserve, again = unpack(ARGV, 1, 4)

local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The number of the writer's last commit, and what became of it: 'writer=number', the last writer first, separated by ';'. One that was refused has a '!' after it.
local function last_commit(commits)
  local _, last = string.find(commits, writer .. '=', 1, true)
  if last then return string.match(commits, '^(%d+)(!?)', last + 1) end
end

local function with_this(commits, fate)
  local list, count = writer .. '=' .. number .. fate, 1
  for other in string.gmatch(commits, '[^;]+') do
    if count < 16 and string.find(other, writer .. '=', 1, true) ~= 1 then list, count = list .. ';' .. other, count + 1 end
  end
  return list
end

-- Looks whether all of the writes may be made.
local starts, olds, at = {}, {}, 5
while ARGV[at] do
  local id, before = ARGV[at], ARGV[at + 1]
  local key = context(id)
  local old = redis.call('HMGET', key, 'v', 'w', 'r', 't', 'd', 'o', 'e', 'k')
  local version, commits, reserved = old[1], old[2] or '', old[3] or ''
  local last, fate = last_commit(commits)
  if last == number and fate == '' then return { 0 } end
  local lost = (version or '0') ~= before or last == number
  if again == '1' and version and before ~= '0' and not lost then
    redis.call('HSET', key, 'w', with_this(commits, '!'))
    lost = true
  end
  local holder, till
  if reserved ~= '' then
    holder, till = string.match(reserved, '^(.*):(%d+)$')
    if holder == writer or tonumber(till) <= milliseconds() then holder = nil end
  end
  if lost then
    if reserve ~= '0' and version and not holder then redis.call('HSET', key, 'r', writer .. ':' .. string.format('%.0f', milliseconds() + reserve)) end
    return { 1, id, redis.call('HGETALL', key) }
  end
  if holder then return { 2, tonumber(till) - milliseconds() } end
  -- Before anything is written: what can't be read stops all of it.
  if old[4] and old[4] ~= ARGV[at + 2] then
    local readable, words = pcall(cjson.decode, old[4])
    if not readable or type(words) ~= 'table' then return { 1, id, redis.call('HGETALL', key) } end
    old.words = words
  end
  starts[#starts + 1], olds[#olds + 1] = at, old
  at = at + 8
  for _ = 1, 4 do at = at + 1 + ARGV[at] end
end

local function index(id, before, after)
  local stays, goes = {}, {}
  for _, word in ipairs(before) do goes[word] = true end
  for _, word in ipairs(cjson.decode(after)) do
    if not goes[word] and not stays[word] then redis.call('ZADD', term(word), id, id) end
    stays[word] = true
  end
  for word in pairs(goes) do
    if not stays[word] then redis.call('ZREM', term(word), id) end
  end
end

local function lease(id, from, to)
  if from == to then
    -- Whoever claimed it did something else: it can be claimed again.
    redis.call('ZADD', running(nobody), 'XX', 0, id)
    return
  end
  if from ~= '' then redis.call('ZREM', running(from), id) redis.call('ZREM', running(nobody), id) end
  if to ~= '' then redis.call('ZADD', running(to), 0, id) end
  -- Who takes a lease and is never heard of again is dead, too.
  if to ~= '' and to ~= nobody then redis.call('ZADD', owners, 'NX', milliseconds(), to) end
end

-- A call takes some thousands of arguments at most.
local function in_pieces(command, key, first, last)
  for from = first, last, 1000 do redis.call(command, key, unpack(ARGV, from, math.min(from + 999, last))) end
end

-- Makes them.
for place, at in ipairs(starts) do
  local id, before, terms, due_at, owner, ended_at, parent, answers = unpack(ARGV, at, at + 7)
  local key, old = context(id), olds[place]
  local exists, commits, reserved, old_terms, old_due, old_owner, old_ended, poked = unpack(old, 1, 8)
  poked = poked == '1'
  local fields = { 'v', string.format('%.0f', before + 1), 'w', with_this(commits or '', '') }
  local function field(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end

  if not exists then
    redis.call('ZADD', all, id, id)
    field('p', parent)
  end
  if terms ~= old_terms then
    field('t', terms)
    index(id, old.words or {}, terms)
  end
  if owner ~= old_owner then field('o', owner) end
  if owner ~= '' or (old_owner or '') ~= '' then lease(id, old_owner or '', owner) end
  if ended_at ~= old_ended then
    field('e', ended_at)
    if ended_at ~= '' then redis.call('ZADD', ended, ended_at, id) elseif old_ended then redis.call('ZREM', ended, id) end
  end
  local was_due = poked or (old_due or '') ~= ''
  if poked and answers == '1' then
    poked = false
    field('k', '')
  end
  if due_at ~= old_due then field('d', due_at) end
  -- Always, since a claim may have moved it.
  if poked then redis.call('ZADD', due, 0, id)
  elseif due_at ~= '' then redis.call('ZADD', due, due_at, id)
  elseif was_due then redis.call('ZREM', due, id) end
  if reserved and reserved ~= '' then field('r', '') end

  local rows = at + 8
  local set = rows + 1 + ARGV[rows]
  local removed = set + 1 + ARGV[set]
  if removed - set < 1000 then
    for from = set + 1, removed - 1 do fields[#fields + 1] = ARGV[from] end
  else
    in_pieces('HSET', key, set + 1, removed - 1)
  end
  redis.call('HSET', key, unpack(fields))
  in_pieces('HDEL', key, removed + 1, removed + ARGV[removed])
  if set > rows + 1 then
    in_pieces('RPUSH', log(id), rows + 1, set - 1)
    -- A good many rows at once: trimming costs as much for one as for many.
    if redis.call('LLEN', log(id)) > log_limit * 1.25 then redis.call('LTRIM', log(id), -log_limit, -1) end
  end
end

-- After the answers: a poke that comes along with one stands.
for _, at in ipairs(starts) do
  at = at + 8
  for _ = 1, 3 do at = at + 1 + ARGV[at] end
  for place = at + 1, at + ARGV[at] do
    local key = context(ARGV[place])
    if redis.call('EXISTS', key) == 1 then
      redis.call('HSET', key, 'k', '1')
      redis.call('ZADD', due, 0, ARGV[place])
    end
  end
end
return { 0 }
