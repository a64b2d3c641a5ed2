// store/redis: sends commits. A commit is one script in one partition; here are its arguments, and what its answers mean.
//
// - A commit that is sent twice is done once. ioredis is configured to fail the commands in progress when a connection
//   breaks. The store then asks for the outcome of the commit by its number, and the script knows the last number of
//   each of the last 16 writers of a context. A commit that was not done is refused from then on, and decided again:
//   it may have been decided on data that this Redis has lost.
// - A commit of rows alone has no context that remembers its number. The partition does so for half a minute, ten
//   times as long as the store asks again. Asked for again, it is judged by its guards, which are exact.
// - A writer that loses three times in a row to other servers gets the context reserved for 20 ms.
import type { ContextId } from '../../model/context.ts'
import { partitionOfCommit, type RowWrite } from '../../model/rows.ts'
import type { CommitOutcome, CommitRequest, Store, Write } from '../../ports/store.ts'
import type { IdNumbers } from './id-numbers.ts'
import type { PartitionClient } from './partition-client.ts'
import { pushRows } from './rows.ts'
import { listOf, type Reply } from './scripts.ts'
import { decodeContext, pushWrite } from './stored-context.ts'

/** Losses in a row after which a context is reserved, and for how long, milliseconds. */
const RESERVE = { after: 3, for: '20' }
const DONE: CommitOutcome = { ok: true }
const DONE_WITH_LOOKUPS: CommitOutcome = { ok: true, lookups: true }
const NO_ROWS: readonly RowWrite[] = []
const NONE: readonly ContextId[] = []

/** The first number of the script's answers, other than 0 (see `lua/commit.lua`). */
const STALE = 1
const OVERTAKEN = 3
const GUARD_FAILED = 4
const KEY_TAKEN = 5
const HAS_LOOKUPS = 6

const isNew = ({ previous }: Write): boolean => previous === 0
const hasUniqueKey = ({ unique }: Write): boolean => unique !== undefined

/** Gives `Store.commit`. `writer` names this store among all that write. */
export function commitSender(client: PartitionClient, ids: IdNumbers, writer: string): Store['commit'] {
  let commits = 0
  // Not an async function: each promise of a commit is paid by every event.
  return (request) => {
    const { writes, rows = NO_ROWS, lost = 0 } = request
    let partition: number | null
    try {
      partition = partitionOfCommit(writes, rows, client.partitions)
    } catch (error) {
      return Promise.reject(error)
    }
    if (partition === null) return Promise.resolve(DONE)
    const created = writes.some(isNew) ? writes.filter(isNew).map(({ context }) => context.id) : NONE
    const fence = created.length > 0 ? ids.fenceOf(created) : ''
    const values = [writer, String(++commits), lost >= RESERVE.after ? RESERVE.for : '0', '0', fence]
    for (const write of writes) pushWrite(values, write)
    const unique = writes.filter(hasUniqueKey)
    const hasMore = rows.length > 0 || unique.length > 0
    if (hasMore) pushRows(values, unique, rows)
    const read = (reply: Reply) => {
      const outcome = reply === 0 ? DONE : outcomeOf(listOf(reply), request, created)
      if (outcome.ok) for (const { context } of writes) ids.seen(context.id)
      return outcome
    }
    return client.commit({ script: hasMore ? 'commit-rows' : 'commit', partition, values, read })
  }
}

/** `created`: contexts that the commit was to create. */
function outcomeOf(
  [code, place, found = []]: readonly Reply[],
  { writes, rows = NO_ROWS }: CommitRequest,
  created: readonly ContextId[],
): CommitOutcome {
  const at = Number(place)
  switch (code) {
    case STALE:
      return { ok: false, stale: at, current: decodeContext(at, found) }
    case OVERTAKEN:
      return { ok: false, overtaken: created }
    case GUARD_FAILED: {
      const { space, key } = itemAt(rows, at)
      return { ok: false, row: { space, key, value: found === null ? null : String(found) } }
    }
    case KEY_TAKEN: {
      const { unique: key = '' } = itemAt(writes.filter(hasUniqueKey), at)
      return { ok: false, unique: { key, by: Number(found) } }
    }
    case HAS_LOOKUPS:
      return DONE_WITH_LOOKUPS
    default:
      throw new TypeError('the commit script gave what it never gives')
  }
}

function itemAt<T>(items: readonly T[], place: number): T {
  const item = items[place]
  if (item === undefined) throw new TypeError('a script told of a row or a key that there is not')
  return item
}
