#!lua
-- Makes all writes true, or none. A commit that is sent again is known by its number and not done twice. If it isn't
-- known, it may have been decided on what this Redis has forgotten: it is refused, and for good, should it still arrive
-- as it was sent first. What only creates contexts was decided on nothing. What only writes rows is judged by its guards
-- alone, and known by its number for half a minute.
--
-- An id that was given out ahead creates a context only while it is one of the last that were given out.
--
-- The lines between '--[ rows' and '--]' are in the script `commit-rows`, and not in `commit`: a commit without rows
-- and unique keys pays nothing for them.
--
-- Keys  all, context, due, ended, expiries, ids, log, owners, packed, row_commits, row_keys, running, stored_row,
--       index_key
-- ARGV[1]  writer: letters, digits, '-' and '_'
-- ARGV[2]  number of the commit, counted by its writer
-- ARGV[3]  milliseconds for which a stale context is reserved for the writer, which has lost so often; 0: it isn't
-- ARGV[4]  1 when it was sent before, else 0
-- ARGV[5]  what must be the number of the last id given out; empty: it doesn't matter
-- ARGV[6…] the writes, each: id, version before, facts, 1 when it is to be one text, else 0,
--          1 when it answers a notification, else 0, number of rows, rows,
--          number of texts, texts (the whole as it is if this writer was the only one so far and no notification is left,
--          or name and value of each part that is set),
--          number of parts that are removed, names, number of contexts that must look at their relatives, ids;
--          in `commit-rows`, behind the writes: an empty text; number of unique keys; context and key of each;
--          the rows, each: space, key, 0 when it must not be there, 1 when it must have the next value, else empty,
--          that value, what it becomes: 0 deleted, 1 set, 2 set in a listed space, its text, its score
--
-- Returns
--   0                  done
--   {1, id, context}   another version is there, or what is there is damaged: the context as `load` gives it
--   {2, milliseconds}  reserved for another writer so long
--   {3}                later ids than those of the contexts to be created were given out
--   {4, place, text}   the guard of a row fails, that place in the list of rows: its value; false when there is none
--   {5, place, id}     a unique key, that place in the list of them, is another context's
--   {6}                done: a context has a new index key, or may have, and there are rows in the space `lookups`
local writer, number, reserve, again, last_id = unpack(ARGV, 1, 5)

-- The number of the writer's last commit, and what became of it: 'writer=number', the last writer first, separated by
-- ';'. One that was refused has a '!' after it.
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

-- What is there: version, facts and the like. Without version there is none.
local function read(id, before)
  if before == '0' and redis.call('EXISTS', packed(id), context(id)) == 0 then
    return { reserved = '', commits = '' }
  end
  -- Lua looks at each byte of a text that it is given: most contexts have all that is needed in their first ones.
  local text = redis.call('GETRANGE', packed(id), 0, 319)
  if text ~= '' then
    local version, notified, reserved, commits, facts, parts = unpacked(text)
    if not version then version, notified, reserved, commits, facts, parts = unpacked(redis.call('GET', packed(id))) end
    return {
      is_text = true, version = version or '', notified = notified, reserved = reserved or '', commits = commits or '',
      facts = facts, parts = parts,
    }
  end
  local f = redis.call('HMGET', context(id), 'v', 'k', 'r', 'w', 'd', 'o', 'e', 'p', 't')
  if not f[1] and redis.call('EXISTS', context(id)) == 0 then return { reserved = '', commits = '' } end
  return {
    version = f[1] or '', notified = f[2] or '', reserved = f[3] or '', commits = f[4] or '',
    facts = table.concat({ f[5] or '', f[6] or '', f[7] or '', f[8] or '', f[9] or '[]' }, '\31'),
  }
end

local function parts_of(id, old) return string.sub(redis.call('GET', packed(id)), old.parts) end

local function set_text(id, version, notified, reserved, commits, facts, parts)
  local head = version .. '\31' .. notified .. '\31' .. reserved .. '\31' .. commits
  redis.call('SET', packed(id), head .. '\30' .. facts .. '\30' .. parts)
end

-- Changes what only scripts write.
local function mark(id, old, notified, reserved, commits)
  if old.is_text then
    set_text(id, old.version, notified, reserved, commits, old.facts, parts_of(id, old))
  else
    redis.call('HSET', context(id), 'k', notified, 'r', reserved, 'w', commits)
  end
end

local function as_loaded(id, old)
  return { 1, id, old.is_text and redis.call('GET', packed(id)) or redis.call('HGETALL', context(id)) }
end

local function done(gains)
  if gains and redis.call('EXISTS', expiries('lookups')) == 1 then return { 6 } end
  return 0
end

-- Looks whether all of the writes may be made.
local starts, olds, at = {}, {}, 6
while ARGV[at] do
  local id, before = ARGV[at], ARGV[at + 1]
--[ rows
  if id == '' then break end
--]
  local old = read(id, before)
  local version, reserved, facts = old.version, old.reserved, ARGV[at + 2]
  local last, fate = last_commit(old.commits)
  -- Whether a context got an index key then isn't known any more.
  if last == number and fate == '' then return done(true) end
  local lost = (version or '0') ~= before or last == number
  local is_refused = again == '1' and version and before ~= '0' and not lost
  if is_refused then old.commits, lost = with_this(old.commits, '!'), true end
  local holder, till
  if reserved ~= '' then
    holder, till = string.match(reserved, '^(.*):(%d+)$')
    if holder == writer or tonumber(till) <= milliseconds() then holder = nil end
  end
  if lost then
    local reserves = reserve ~= '0' and old.facts and not holder
    if reserves then reserved = writer .. ':' .. string.format('%.0f', milliseconds() + reserve) end
    -- Once: what was read tells where the parts were in the text.
    if reserves or is_refused then mark(id, old, old.notified, reserved, old.commits) end
    return as_loaded(id, old)
  end
  if holder then return { 2, tonumber(till) - milliseconds() } end
  -- Before anything is written: what can't be read stops all of it.
  if version and old.facts ~= facts then
    local _, _, _, _, index_keys = facts_of(old.facts)
    local readable, keys = pcall(cjson.decode, index_keys)
    if not readable or type(keys) ~= 'table' then return as_loaded(id, old) end
    old.keys = keys
  end
  starts[#starts + 1], olds[#olds + 1] = at, old
  at = at + 5
  for _ = 1, 4 do at = at + 1 + ARGV[at] end
end

if last_id ~= '' and redis.call('GET', ids) ~= last_id then return { 3 } end

--[ rows
-- In seven arguments each.
local first_unique, first_row = at + 2, at + 2 + 2 * ARGV[at + 1]
local this_commit = writer .. '=' .. number
if #starts == 0 and redis.call('ZSCORE', row_commits, this_commit) then return 0 end
for place = first_row, #ARGV, 7 do
  local space, key, guard, expected = unpack(ARGV, place, place + 3)
  if guard ~= '' then
    local text = redis.call('GET', stored_row(space, key))
    local value = text and not is_expired(text, milliseconds()) and value_of(text)
    if value ~= (guard == '1' and expected) then return { 4, (place - first_row) / 7, value } end
  end
end

-- What contexts and their keys will be; whether another context is left with a key.
local facts_after, given = {}, {}
for _, at in ipairs(starts) do facts_after[ARGV[at]] = ARGV[at + 2] end
local function is_left(id, key)
  if not facts_after[id] then return true end
  local _, _, _, _, index_keys = facts_of(facts_after[id])
  for _, other in ipairs(cjson.decode(index_keys)) do if other == key then return true end end
  return false
end
for place = first_unique, first_row - 1, 2 do
  local id, key = ARGV[place], ARGV[place + 1]
  local by = given[key] ~= id and given[key]
  -- Each write can take the key from one context: of so many, one is left with it.
  for _, other in ipairs(first_ids(index_key(key), 1, 2 ^ 53, #starts + 2)) do
    if not by and other ~= id and is_left(other, key) then by = other end
  end
  if by then return { 5, (place - first_unique) / 2, by } end
  given[key] = id
end
--]

local gains = false
local function index(id, before, after, is_new)
  local had, stays, comes = {}, {}, {}
  if is_new then comes[1] = all end
  gains = true
  for _, key in ipairs(before) do had[key] = true end
  for _, key in ipairs(after) do
    if had[key] then stays[key] = true else comes[#comes + 1] = index_key(key) end
    if #comes == 500 then
      insert(comes, id)
      comes = {}
    end
  end
  if #comes > 0 then insert(comes, id) end
  for key in pairs(had) do
    if not stays[key] then remove(index_key(key), id) end
  end
end

local function lease(id, from, to)
  local is_unowned = string.sub(to, 1, #unowned) == unowned
  if from == to then
    -- The server that claimed it did something else: it can be claimed again.
    redis.call('ZADD', running(unowned), 'XX', 0, id)
    -- One that is ready keeps its place, unless a claim has hidden it.
    if is_unowned and to ~= unowned then redis.call('ZADD', running(to), 'XX', 'LT', milliseconds(), id) end
    return
  end
  if from ~= '' then redis.call('ZREM', running(from), id) redis.call('ZREM', running(unowned), id) end
  -- Ready steps are claimed in the order in which they were written.
  if to ~= '' then redis.call('ZADD', running(to), is_unowned and milliseconds() or 0, id) end
  -- A server that takes a lease and is never heard of again is dead, too.
  if to ~= '' and not is_unowned then redis.call('ZADD', owners, 'NX', milliseconds(), to) end
end

-- A call takes some thousands of arguments at most.
local function in_pieces(command, key, list, first, last)
  for from = first, last, 1000 do redis.call(command, key, unpack(list, from, math.min(from + 999, last))) end
end

-- Writes a context, as one text or as a hash, whichever it was before.
local function write(id, old, version, facts, is_packed, notified, texts, removed, rest)
  local commits = with_this(old.commits, '')
  if is_packed then
    local text = ARGV[texts + 1]
    if notified == '' and commits == writer .. '=' .. number then
      redis.call('SET', packed(id), text)
    else
      local _, _, _, _, _, parts = unpacked(text)
      set_text(id, version, notified, '', commits, facts, string.sub(text, parts))
    end
    if old.version and not old.is_text then redis.call('DEL', context(id)) end
    return
  end
  local due_at, owner, ended_at, parent, index_keys = facts_of(facts)
  redis.call('HSET', context(id), 'v', version, 'w', commits, 'k', notified, 'r', '',
    'd', due_at, 'o', owner, 'e', ended_at, 'p', parent, 't', index_keys)
  if old.is_text then
    local parts, name = {}, true
    for text in string.gmatch(parts_of(id, old), '([^\31]*)\31') do
      parts[#parts + 1] = name and '.' .. text or text
      name = not name
    end
    in_pieces('HSET', context(id), parts, 1, #parts)
    redis.call('DEL', packed(id))
  end
  in_pieces('HSET', context(id), ARGV, texts + 1, removed - 1)
  in_pieces('HDEL', context(id), ARGV, removed + 1, rest - 1)
end

-- Makes them.
for place, at in ipairs(starts) do
  local id, before, facts, is_packed, answers, rows = unpack(ARGV, at, at + 5)
  local old = olds[place]
  local due_at, owner, ended_at, _, index_keys = facts_of(facts)
  local was_due, notified = old.notified == '1', old.notified == '1' and answers ~= '1'
  if old.facts ~= facts then
    local old_due, old_owner, old_ended, _, old_keys = facts_of(old.facts or '\31\31\31\31')
    if index_keys ~= old_keys then index(id, old.keys or {}, cjson.decode(index_keys), not old.version) end
    if owner ~= '' or old_owner ~= '' then lease(id, old_owner, owner) end
    if ended_at ~= old_ended then
      if ended_at ~= '' then redis.call('ZADD', ended, ended_at, id) else redis.call('ZREM', ended, id) end
    end
    was_due = was_due or old_due ~= ''
  elseif owner ~= '' then
    lease(id, owner, owner)
  end
  -- Always, since a claim may have moved it.
  if notified then redis.call('ZADD', due, 0, id)
  elseif due_at ~= '' then redis.call('ZADD', due, due_at, id)
  elseif was_due then redis.call('ZREM', due, id) end

  local texts = at + 6 + rows
  local removed = texts + 1 + ARGV[texts]
  local rest = removed + 1 + ARGV[removed]
  write(id, old, string.format('%.0f', before + 1), facts, is_packed == '1', notified and '1' or '', texts, removed, rest)
  if rows ~= '0' then
    in_pieces('RPUSH', log(id), ARGV, at + 6, texts - 1)
    -- A good many rows at once: trimming costs as much for one as for many.
    if redis.call('LLEN', log(id)) > log_limit * 1.25 then redis.call('LTRIM', log(id), -log_limit, -1) end
  end
end

-- After the answers: a notification that comes along with one stands.
for _, at in ipairs(starts) do
  at = at + 5
  for _ = 1, 3 do at = at + 1 + ARGV[at] end
  for place = at + 1, at + ARGV[at] do
    local readable, old = pcall(read, ARGV[place])
    if not readable then old = { version = '' } end
    if old.facts then mark(ARGV[place], old, '1', old.reserved, old.commits) end
    if old.version then redis.call('ZADD', due, 0, ARGV[place]) end
  end
end

--[ rows
for place = first_row, #ARGV, 7 do
  local space, key, _, _, kind, text, score = unpack(ARGV, place, place + 6)
  if kind == '0' then
    redis.call('DEL', stored_row(space, key))
    redis.call('ZREM', expiries(space), key)
    redis.call('ZREM', row_keys(space), key)
  else
    redis.call('SET', stored_row(space, key), text)
    redis.call('ZADD', expiries(space), score, key)
    if kind == '2' then redis.call('ZADD', row_keys(space), 0, key) end
  end
end
if #starts == 0 then
  local now = milliseconds()
  redis.call('ZREMRANGEBYSCORE', row_commits, '-inf', now - 30000)
  redis.call('ZADD', row_commits, now, this_commit)
end
--]
return done(gains)
