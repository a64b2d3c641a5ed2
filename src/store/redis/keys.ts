// store/redis: every key, in one place. A namespace has three of its own; all others belong to a partition, and to its
// slot in a cluster.
import { MAX_LOG_ROWS, UNOWNED } from '../../model/record.ts'

/** Hash: what was fixed when the namespace was made. */
export const settingsKey = (namespace: string) => `af:${namespace}`

/** String: a definition under its content hash. Spread over a cluster: it is written before a commit needs it. */
export const definitionKey = (namespace: string, hash: string) => `af:${namespace}:def:${hash}`

/** Set: the hashes of all definitions. */
export const definitionsKey = (namespace: string) => `af:${namespace}:defs`
/** String: what a server wrote down when its event loop stood still, for a week. */
export const standstillKey = (namespace: string, owner: string) => `af:${namespace}:standstill:${owner}`

/** Channel: ids of contexts that have paused or ended. */
export const feedChannel = (namespace: string) => `af:${namespace}:feed`

/**
 * What all keys of a partition begin with. The braces keep them in one slot, so that a script may touch any of them.
 */
export const partitionKey = (namespace: string, partition: number) => `{af:${namespace}:${partition}}:`

/** How scripts name the keys of their partition: each begins with those of these lines that it needs. */
export const PARTITION_KEYS = `
local root = KEYS[1]
-- String: a small context.
local function packed(id) return root .. 'p:' .. id end
-- Hash: a large one, and those of version 0.1. v(ersion), t(erms, a JSON list), d(ue), o(wner), e(nded at), p(arent),
-- k: 1 when a relative asks it to look, w: the last commit of each writer, r: for whom it is reserved and until when;
-- and its parts, each under '.' and its name. What is null is empty.
local function context(id) return root .. 'c:' .. id end
-- List: rows of a context's log.
local function log(id) return root .. 'h:' .. id end
-- Set of ids, in leaves: the contexts that have a key.
local function index_key(key) return 't:' .. key end
-- Set of ids, in leaves.
local all = 'all'
-- Sorted set: when a context may be claimed. That is its due time, 0 when a relative asks it to look, or the end of
-- the last claim.
local due = root .. 'due'
-- Sorted set: when a context finished.
local ended = root .. 'end'
-- Sorted set of the contexts whose step a server runs; the score is when they may be claimed by others once it is dead.
local function running(owner) return root .. 'run:' .. owner end
-- Who owns the steps that no server runs, those of a dead server among them. Owners of ready steps begin with it.
local unowned = '${UNOWNED}'
-- String: a row of a space: when it expires, empty if never; '\\31'; its value.
local function stored_row(space, key) return root .. 'r:' .. space .. ':' .. key end
-- Sorted set: when each row of a space expires.
local function expiries(space) return root .. 'rx:' .. space end
-- Sorted set of equal scores: the keys of a listed space, by their bytes.
local function row_keys(space) return root .. 'rk:' .. space end
-- Sorted set: 'writer=number' of the commits of the last moments that wrote rows alone, and when.
local row_commits = root .. 'rc'
-- Newest rows of a log that are kept.
local log_limit = ${MAX_LOG_ROWS}
-- Sorted set: the last heartbeat of each server.
local owners = root .. 'owners'
-- Sorted set: when a server was taken for dead.
local dead = root .. 'dead'
-- String: the number of the last id given out.
local ids = root .. 'ids'
-- String: run id of the Redis that gave it.
local issuer = root .. 'giver'
-- String: who was given ids last, and since when nobody else was, 'writer:milliseconds'.
local taker = root .. 'taker'
`
