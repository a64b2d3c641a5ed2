#!lua
-- Makes all writes true, or none. A commit that is sent again is known by its number and not done twice.
--
-- Keys  all, context, due, ended, log, owners, running, term
-- ARGV[1]  writer: letters, digits, '-' and '_'
-- ARGV[2]  number of the commit, counted by its writer
-- ARGV[3]  1: the writer has lost so often that a stale context is reserved for it
-- ARGV[4]  milliseconds that a reservation lasts
-- ARGV[5]  newest rows of a log that are kept
-- ARGV[6]  owner of steps that nobody runs
-- ARGV[7…] the writes, each: id, version before, version, terms, due, owner, ended at, parent, answers a poke (1 or 0), number of rows, rows,
--          number of texts that are set (two for a part), name and value of each, number of parts that are removed, names, number of pokes, ids
--
-- Returns
--   {0}                done
--   {1, id, fields}    another version is there: names and values of the context's hash, empty when there is none
--   {2, milliseconds}  reserved for another writer so long
local writer, number, lost, reserved_for, log_limit, nobody = unpack(ARGV, 1, 6)

local function last_commit(commits)
  local _, last = string.find(commits, writer .. '=', 1, true)
  return last and string.match(commits, '^%d+', last + 1)
end

-- The writers that committed lately, the last of them first.
local function with_this(commits)
  local list, count = writer .. '=' .. number, 1
  for one in string.gmatch(commits, '[^;]+') do
    if count < 16 and string.sub(one, 1, #writer + 1) ~= writer .. '=' then
      list, count = list .. ';' .. one, count + 1
    end
  end
  return list
end

local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Reads the writes; a list is given as the places of its first and last element.
local writes, at = {}, 7
local function list()
  local first, last = at + 1, at + tonumber(ARGV[at])
  at = last + 1
  return { first = first, last = last }
end
while at <= #ARGV do
  local id, before, version, terms, due_at, owner, ended_at, parent, answers = unpack(ARGV, at, at + 8)
  at = at + 9
  writes[#writes + 1] = {
    id = id, before = before, version = version, terms = terms, due = due_at, owner = owner, ended = ended_at, parent = parent, answers = answers == '1',
    rows = list(), set = list(), removed = list(), pokes = list(),
  }
end

-- Looks whether all of them may be made.
for place, write in ipairs(writes) do
  local key = context(write.id)
  local version, commits, reserved, terms, due_at, owner, ended_at, poked = unpack(redis.call('HMGET', key, 'v', 'w', 'r', 't', 'd', 'o', 'e', 'k'))
  -- All of a commit's contexts tell the same.
  if place == 1 and commits and last_commit(commits) == number then return { 0 } end
  local holder, till
  if reserved and reserved ~= '' then
    holder, till = string.match(reserved, '^(.*):(%d+)$')
    if holder == writer or tonumber(till) <= milliseconds() then holder = nil end
  end
  if (version or '0') ~= write.before then
    if lost == '1' and version and not holder then redis.call('HSET', key, 'r', writer .. ':' .. string.format('%.0f', milliseconds() + reserved_for)) end
    return { 1, write.id, redis.call('HGETALL', key) }
  end
  if holder then return { 2, tonumber(till) - milliseconds() } end
  write.old = {
    exists = version, commits = commits or '', reserved = reserved or '', terms = terms or '[]', due = due_at or '', owner = owner or '', ended = ended_at or '',
    poked = poked == '1',
  }
end

local function index(id, old, new)
  local stays, goes = {}, {}
  for _, word in ipairs(cjson.decode(old)) do goes[word] = true end
  for _, word in ipairs(cjson.decode(new)) do
    if not goes[word] and not stays[word] then redis.call('ZADD', term(word), id, id) end
    stays[word] = true
  end
  for word in pairs(goes) do
    if not stays[word] then redis.call('ZREM', term(word), id) end
  end
end

local function wake(id, old, due_at, poked)
  if poked then redis.call('ZADD', due, 0, id)
  elseif due_at ~= '' then redis.call('ZADD', due, due_at, id)
  elseif old.due ~= '' or old.poked then redis.call('ZREM', due, id) end
end

local function lease(id, from, to)
  if from == to then
    -- Whoever claimed it did something else: it can be claimed again.
    if to ~= '' then redis.call('ZADD', running(nobody), 'XX', 0, id) end
    return
  end
  if from ~= '' then redis.call('ZREM', running(from), id) redis.call('ZREM', running(nobody), id) end
  if to == '' then return end
  redis.call('ZADD', running(to), 0, id)
  -- Who takes a lease and is never heard of again is dead, too.
  if to ~= nobody then redis.call('ZADD', owners, 'NX', milliseconds(), to) end
end

-- A call takes some thousands of arguments at most.
local function in_pieces(command, key, arguments)
  for first = arguments.first, arguments.last, 1000 do
    redis.call(command, key, unpack(ARGV, first, math.min(first + 999, arguments.last)))
  end
end

for _, write in ipairs(writes) do
  local id, old, key = write.id, write.old, context(write.id)
  if not old.exists then redis.call('ZADD', all, id, id) end
  local facts = { 'v', write.version, 'w', with_this(old.commits) }
  local function fact(name, before, after)
    if before == after and old.exists then return false end
    facts[#facts + 1], facts[#facts + 2] = name, after
    return true
  end
  if fact('t', old.terms, write.terms) then index(id, old.terms, write.terms) end
  fact('d', old.due, write.due)
  fact('o', old.owner, write.owner)
  lease(id, old.owner, write.owner)
  if fact('e', old.ended, write.ended) then
    if write.ended ~= '' then redis.call('ZADD', ended, write.ended, id) elseif old.ended ~= '' then redis.call('ZREM', ended, id) end
  end
  if not old.exists then fact('p', '', write.parent) end
  local poked = old.poked and not write.answers
  if old.poked and not poked then fact('k', '1', '') end
  if old.reserved ~= '' then fact('r', old.reserved, '') end
  redis.call('HSET', key, unpack(facts))
  wake(id, old, write.due, poked)
  in_pieces('HSET', key, write.set)
  in_pieces('HDEL', key, write.removed)
  if write.rows.first <= write.rows.last then
    in_pieces('RPUSH', log(id), write.rows)
    -- A good many rows at once: trimming costs as much for one as for many.
    if redis.call('LLEN', log(id)) > log_limit * 1.25 then redis.call('LTRIM', log(id), -log_limit, -1) end
  end
end

-- After the answers: a poke that comes along with one stands.
for _, write in ipairs(writes) do
  for place = write.pokes.first, write.pokes.last do
    local id = ARGV[place]
    if redis.call('EXISTS', context(id)) == 1 then
      redis.call('HSET', context(id), 'k', '1')
      redis.call('ZADD', due, 0, id)
    end
  end
end
return { 0 }
