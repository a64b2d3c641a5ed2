// store/redis: the names of all keys. A few belong to the namespace; all others belong to a partition, and so to one
// slot of a cluster.
//
// `store/redis/keys.ts` has every key. All keys of a partition begin with one hash tag,
// `{af:<namespace>:<partition>}:`, so a commit is one script in one slot. The id determines the partition (`id %
// partitions`), and a child's id is chosen in the partition of its parent. Lists and broadcasts ask all partitions and
// merge the results (`selections.ts`).
import { MAX_LOG_ROWS, UNOWNED } from '../../model/context.ts'

/** Hash: the settings that were fixed when the namespace was created. */
export const settingsKey = (namespace: string) => `af:${namespace}`

/** String: the note of a server whose event loop was blocked; kept for a week. */
export const standstillKey = (namespace: string, owner: string) => `af:${namespace}:standstill:${owner}`

/** Channel: ids of contexts that have paused or ended, and the message that steps are ready. */
export const feedChannel = (namespace: string) => `af:${namespace}:feed`

/**
 * The prefix of the keys of the feed of moves: `s`, its stream; `v` and `w`, hashes with the newest version of contexts in
 * it; `on`, where it began, as long as it is active. One slot has all of them.
 */
export const movesKey = (namespace: string) => `{af:${namespace}:moves}:`

/** The prefix of all keys of a partition. The braces keep them in one slot, so that a script may access any of them. */
export const partitionKey = (namespace: string, partition: number) => `{af:${namespace}:${partition}}:`

/**
 * Lua functions and variables that name the keys of a partition. Each script begins with those of them that it needs.
 */
export const PARTITION_KEYS = `
local root = KEYS[1]
-- String: a small context.
local function packed(id) return root .. 'p:' .. id end
-- Hash: a large context. v(ersion), t(erms, a JSON list), d(ue), o(wner), e(nded at), p(arent),
-- k: 1 when a relative has notified it, w: the last commit of each writer, r: the writer for which it is reserved, and until when;
-- and its parts, each under '.' and its name. Null is the empty text.
local function context(id) return root .. 'c:' .. id end
-- List: rows of a context's log.
local function log(id) return root .. 'h:' .. id end
-- Set of ids, in leaves: the contexts that have a key.
local function index_key(key) return 't:' .. key end
-- Set of ids, in leaves: all contexts.
local all = 'all'
-- Sorted set: when a context may be claimed. That is its due time, 0 when a relative has notified it, or the end of
-- the last claim.
local due = root .. 'due'
-- Sorted set: when a context finished.
local ended = root .. 'end'
-- Sorted set of the contexts whose step a server runs; the score is when they may be claimed by others once it is dead.
local function running(owner) return root .. 'run:' .. owner end
-- The owner of the steps that no server runs, including those of dead servers. Owners of ready steps begin with it.
local unowned = '${UNOWNED}'
-- String: a row of a space: when it expires, empty if never; '\\31'; its value.
local function stored_row(space, key) return root .. 'r:' .. space .. ':' .. key end
-- Sorted set: when each row of a space expires.
local function expiries(space) return root .. 'rx:' .. space end
-- Sorted set of equal scores: the keys of a listed space, by their bytes.
local function row_keys(space) return root .. 'rk:' .. space end
-- Sorted set: 'writer=number' of the commits of the last moments that wrote rows alone, and when.
local row_commits = root .. 'rc'
-- How many of the newest rows of a log are kept.
local log_limit = ${MAX_LOG_ROWS}
-- Sorted set: the last heartbeat of each server.
local owners = root .. 'owners'
-- Sorted set: when a server was declared dead.
local dead = root .. 'dead'
-- String: the number of the last issued id.
local ids = root .. 'ids'
-- String: run id of the Redis that issued it.
local issuer = root .. 'giver'
-- String: to which writer ids were issued last, and since when to no other, 'writer:milliseconds'.
local taker = root .. 'taker'
-- Stream: the moves of the namespace, under a prefix of its own.
local moves_feed = root .. 's'
-- String: where the feed began; absent while there are no readers.
local moves_begin = root .. 'on'
-- Hash: the last version of each context that was appended lately, and the first and the last of those that were missing
-- then, separated by spaces; and the hash before it.
local moves_versions = root .. 'v'
local moves_earlier = root .. 'w'
`
