// engine/calls: `listPendingPage` returns a page of the events that are kept until a context waits for them. A request
// looks at a bounded number of rows: its page then ends early, and says where the next one begins.
import type { CheckedCall } from '../../api/calls.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PendingPage, PendingView } from '../../api/events.ts'
import { denial } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { pendingRowKey, scopeIn } from '../../model/pending.ts'
import { compareRows, type StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import { listedHeldOf, type ListedHeld } from '../pending/held-event.ts'
import { decodeHead, pendingOf } from '../record/decode.ts'
import { SECURED } from '../record/index-keys.ts'
import { isUnreadableRow } from '../record/unreadable.ts'
import { contextIdOf } from './address.ts'
import type { CallEnv } from './call-env.ts'
import { checkedTags } from './requests.ts'

/** Rows read at once, and those that one request looks at, and characters of these: an event may have many tags. */
const STRIDE = 128
const MAX_ROWS = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024
/** Characters of rows after which a page ends. */
const PAGE_CHARACTERS = 2 * 1024 * 1024

/** A row of the list, by its key. */
interface Listed {
  readonly key: string
  readonly partition: number
  /** Null: it can't be read. */
  readonly row: ListedHeld | null
  readonly characters: number
}

interface Asked {
  readonly limit: number
  readonly event: string | undefined
  readonly tags: readonly string[]
  /** Matches to pass over. */
  skip: number
  /** Only rows behind the one with this key. */
  after: string | null
}

/** See `FluxApi`. */
export async function listPendingPage(
  env: CallEnv,
  { limit, page, after, event, tag, ...address }: CheckedCall<'listPending'>,
): Promise<PendingPage> {
  const tags = checkedTags(tag, '/tag', env.tagLimits)
  const colon = after?.indexOf(':') ?? 0
  const skip = after === undefined ? page * limit : Number(after.slice(0, colon))
  const asked: Asked = { limit, event, tags, skip, after: after?.slice(colon + 1) ?? null }
  const isOfContext = address.contextId !== undefined || address.key !== undefined
  return pageOf(env, asked, isOfContext ? await keptBy(env, await contextIdOf(env, address, 'read')) : null)
}

/** `given`: all that there is; null: the rows of the store. */
async function pageOf(env: CallEnv, asked: Asked, given: readonly Listed[] | null): Promise<PendingPage> {
  const events: PendingView[] = []
  let [looked, seen, characters, last] = [0, 0, 0, asked.after]
  for (let from = asked.after; ;) {
    const some = given ? given.filter(({ key }) => from === null || key > from) : await rowsBehind(env, from)
    const shown = await Promise.all(some.map((one) => isShown(env, asked, one)))
    for (const [place, one] of some.entries()) {
      const isFull = events.length === asked.limit || characters > PAGE_CHARACTERS
      if (shown[place] === true) {
        if (asked.skip === 0 && isFull) return { events, next: `0:${last}` }
        if (asked.skip > 0) asked.skip -= 1
        else if (one.row !== null) {
          events.push(viewOf(one.row))
          characters += one.characters
        }
      }
      last = one.key
      seen += one.characters
    }
    from = last
    looked += some.length
    if (given !== null || some.length < STRIDE) return { events, next: null }
    if (looked >= MAX_ROWS || seen >= MAX_CHARACTERS) return { events, next: `${asked.skip}:${last}` }
    // What the store has in memory it gives without a pause. Other work is served before the next rows.
    await nextTurn()
  }
}

async function rowsBehind({ store, log }: CallEnv, key: string | null): Promise<Listed[]> {
  // Keys differ in all partitions: they have the id of the event, and of the context.
  const after = key === null ? undefined : { key, partition: store.partitions }
  const rows = await store.listRows({ space: 'pending', prefix: '', after, limit: STRIDE })
  return rows.map((row) => listedOf(row, log))
}

function listedOf({ key, partition, value }: StoredRow, log: Log): Listed {
  const listed = { key, partition, characters: value.length }
  try {
    return { ...listed, row: listedHeldOf(value) }
  } catch (error) {
    if (isUnreadableRow(error, { space: 'pending', key }, log)) return { ...listed, row: null }
    throw error
  }
}

/** What that context keeps, by arrival. */
async function keptBy({ store }: CallEnv, id: ContextId): Promise<Listed[]> {
  const stored = await store.load({ id })
  if (!stored) return []
  const { package: owner, fluxName } = decodeHead(stored)
  const kept = pendingOf(stored.parts).map((event): Listed => {
    const { eventId, event: name, tags, receivedAt, expiresAt, receipt } = event
    const row = { eventId, event: name, contextId: id, package: owner, fluxName, tags, receivedAt, expiresAt }
    const key = pendingRowKey(row, scopeIn(receipt))
    return { key, partition: id % store.partitions, row, characters: key.length }
  })
  return kept.sort(compareRows)
}

/** Whether it is asked for, still pending, and for this caller's eyes. */
async function isShown(env: CallEnv, { event, tags }: Asked, { key, partition, row }: Listed): Promise<boolean> {
  if (row === null || (event !== undefined && row.event !== event)) return false
  if (!tags.every((tag) => row.tags.includes(tag))) return false
  if (row.expiresAt !== null && row.expiresAt <= env.now()) return false
  const isPrivileged = denial(env.caller, 'read') === null
  const { contextId: id } = row
  if (id === null)
    // Where there are several partitions, the row goes a little later than the event.
    return (
      (isPrivileged || row.byToken !== true) &&
      (env.store.partitions === 1 || !(await env.held.isTaken(partition, key)))
    )
  return isPrivileged || !(await isSecured(env, row, id))
}

/** Whether its service was secured when the context was started, or is secured now. */
async function isSecured({ catalog, store }: CallEnv, row: ListedHeld, id: ContextId): Promise<boolean> {
  if (catalog.find(row.package ?? '', row.fluxName ?? '')?.secured === true) return true
  const found = await store.waitingFor({ any: [SECURED], after: id - 1, upTo: id, limit: 1 })
  return found.length > 0
}

const viewOf = ({ eventId, event, contextId, fluxName, tags, receivedAt, expiresAt }: ListedHeld): PendingView => ({
  eventId,
  event,
  contextId,
  fluxName,
  tags: [...tags],
  receivedAt,
  expiresAt,
})
