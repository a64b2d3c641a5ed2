// engine/calls: the calls about events that were sent: what became of one, those that are pending, and taking one back.
import { CALLS, type CheckedCall } from '../../api/calls.ts'
import type { NamedEvent, PendingPage, Receipt } from '../../api/events.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import { scopeOfToken } from '../../model/caller.ts'
import { eventIdOf } from '../../model/cloud-event.ts'
import type { ContextId } from '../../model/context.ts'
import { conflict, FluxError, notFound, type Failure } from '../../model/failure.ts'
import { copiesPrefix, copyIn, pendingRowKey, scopeIn } from '../../model/pending.ts'
import { compareRows, type StoredRow } from '../../model/rows.ts'
import { BroadcastPlace } from '../fanout/receivers.ts'
import { receiptOf } from '../fanout/receipts.ts'
import { readKeptToAll, readKeptToSingle, rowKeyOf, type ScopedKey } from '../idempotency/kept-answer.ts'
import { isOfToken, listedPendingOf, type ListedPending, type UnclaimedEvent } from '../pending/unclaimed-store.ts'
import { decodeHead, pendingOf } from '../record/decode.ts'
import { hiddenFrom } from '../record/index-keys.ts'
import { readableOf } from '../record/unreadable.ts'
import { allRows } from '../tasks/fan-out.ts'
import { inDoubtIfAway } from '../tasks/queue.ts'
import { contextIdOf } from './address.ts'
import { checkedTags, requireRole, type CallEnv } from './call-env.ts'
import { pageOf } from './paging.ts'

/** Rows of pending events that are read at once. */
const STRIDE = 128
/** Characters of rows after which a page ends. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
/** Copies that are withdrawn at the same time. */
const WAVE = 100

/** See `FluxApi`. */
export async function getEvent(env: CallEnv, request: CheckedCall<'getEvent'>): Promise<Receipt> {
  return receiptFor(env, eventNamed(env, request))
}

/** See `FluxApi`. */
export async function stopEvent(env: CallEnv, request: CheckedCall<'stopEvent'>): Promise<Receipt> {
  const event = eventNamed(env, request)
  await env.keptBroadcasts.stop(event)
  return inDoubtIfAway(() => receiptFor(env, event))
}

/**
 * The event that a request names, which has passed the check. @throws FluxError when the caller may not name another
 * sender
 */
function eventNamed(env: CallEnv, { eventId, source = '', id = '', scope: named }: NamedEvent) {
  requireRole(env, { secured: named !== undefined }, 'admin')
  const scope = named === undefined ? env.scope : scopeOfToken(named === 'nobody' ? undefined : named)
  return { scope, of: CALLS.sendEvent, key: eventId ?? eventIdOf(source, id) }
}

/** @throws FluxError `notFound` */
async function receiptFor({ store, clock }: CallEnv, event: ScopedKey) {
  const receipt = await receiptOf(store, event, clock.now())
  if (!receipt) throw notFound(`nothing is kept of an event '${event.key}'`)
  return receipt
}

/** A pending event of the list, by the key of its row. */
interface Listed extends ListedPending {
  readonly key: string
  readonly partition: number
  readonly characters: number
}

/**
 * A page of the events that are kept until a context waits for them. A request looks at a bounded number of rows: its
 * page then ends early, and says where the next one begins.
 */
export async function listPendingPage(
  env: CallEnv,
  { event, tag, limit, page, after, ...address }: CheckedCall<'listPending'>,
): Promise<PendingPage> {
  const tags = checkedTags(env, tag, '/tag')
  const hidden = hiddenFrom(env, 'read')
  const isOfContext = address.contextId !== undefined || address.key !== undefined
  const { views, next } = await pageOf(
    env,
    { limit, page, after },
    async (behind) =>
      isOfContext ? keptBy(env, await contextIdOf(env, address, 'read'), behind) : pendingRows(env, behind),
    async (one) =>
      (event ?? one.event) === one.event && tags.every((own) => one.tags.includes(own)) && isPending(env, one, hidden),
    async ({ eventId, event: name, contextId, fluxName, tags: own, receivedAt, expiresAt, characters }) => ({
      view: { eventId, event: name, contextId, fluxName, tags: [...own], receivedAt, expiresAt },
      share: characters / PAGE_CHARACTERS,
    }),
  )
  return { events: views, next }
}

async function* pendingRows({ store, log }: CallEnv, behind: string | null) {
  // Keys differ in all partitions: they have the id of the event, and of the context.
  const after = behind === null ? undefined : { key: behind, partition: store.partitions }
  for await (const row of allRows(store, { space: 'pending', prefix: '', after }, STRIDE)) {
    const { key, partition, value } = row
    const listed = readableOf(row, 'pending', log, listedPendingOf)
    if (listed) yield { ...listed, key, partition, characters: value.length }
  }
}

/** What that context keeps, by arrival. */
async function keptBy({ store }: CallEnv, id: ContextId, behind: string | null) {
  const stored = await store.load({ id })
  if (!stored) return []
  const { package: owner, fluxName } = decodeHead(stored)
  const kept = pendingOf(stored.parts).map((event) => {
    const row = { ...event, contextId: id, package: owner, fluxName }
    const key = pendingRowKey(row, scopeIn(event.receipt))
    return { ...row, key, partition: id % store.partitions, characters: key.length }
  })
  return kept.filter(({ key }) => key > (behind ?? '')).sort(compareRows)
}

/** Whether it is still pending, and this caller may see it. `hidden`: keys of contexts that it must not see. */
async function isPending({ store, clock }: CallEnv, row: Listed, hidden: readonly string[]) {
  const { contextId: id, expiresAt, byToken } = row
  if (expiresAt !== null && expiresAt <= clock.now()) return false
  const mayAll = hidden.length === 0
  if (id !== null) {
    const one = { partition: id % store.partitions, after: id - 1, before: id + 1 }
    return mayAll || (await store.count({ any: [[]], without: hidden, ...one })) > 0
  }
  // Where there are several partitions, the row goes a little later than the event.
  return mayAll || byToken !== true
}

/** What became of one copy: withdrawn, or no longer pending, or the reason why this caller may not withdraw it. */
type Withdrawn = boolean | Failure

/**
 * Withdraws a pending event: from each context that keeps it, or where it is unclaimed. If several senders used the
 * same id, only the event of the caller is withdrawn; if the caller sent none, those of all senders are.
 */
export async function withdraw(env: CallEnv, { eventId }: CheckedCall<'withdraw'>): Promise<MessageAnswer> {
  const own = rowKeyOf({ ...env, of: CALLS.sendEvent, key: eventId })
  const place = new BroadcastPlace(env.isStep ? null : env.broadcasts)
  try {
    const ofOwn = await withdrawAll(env, { eventId, receipt: own }, place)
    if (ofOwn.includes(true)) return { message: `withdrew the event '${eventId}'` }
    // If the event of the caller is over, those of others are not withdrawn.
    const isOver = (await readKeptToAll(env.store, own)) !== null || (await readKeptToSingle(env.store, own)).length > 0
    const results = isOver ? ofOwn : await withdrawAll(env, { eventId, receipt: null }, place)
    if (results.includes(true)) return { message: `withdrew the event '${eventId}'` }
    const denied = results.find((result) => typeof result !== 'boolean')
    if (denied) throw new FluxError(denied)
    throw isOver || results.length > 0
      ? conflict(`nothing of the event '${eventId}' is pending any more`)
      : notFound(`no event '${eventId}' is pending`)
  } finally {
    place.release()
  }
}

/** What is to be withdrawn. `receipt`: only what was sent under it; null: the events of all senders. */
interface Wanted {
  readonly eventId: string
  readonly receipt: string | null
}

async function withdrawAll(env: CallEnv, wanted: Wanted, place: BroadcastPlace) {
  const results: Withdrawn[] = []
  const { receipt } = wanted
  const prefix = copiesPrefix(wanted.eventId)
  for (let after: StoredRow | undefined, rows; rows === undefined || rows.length === WAVE; after = rows.at(-1)) {
    rows = await env.store.listRows({ space: 'copies', prefix, after, limit: WAVE })
    const some = rows.filter(({ key }) => receipt === null || copyIn(key).scope === scopeIn(receipt))
    place.take(results.length + some.length)
    results.push(...(await Promise.all(some.map((row) => withdrawCopy(env, wanted, row)))))
  }
  return results
}

async function withdrawCopy(env: CallEnv, wanted: Wanted, { partition, key }: StoredRow) {
  const { caller, unclaimed, mailboxes } = env
  const copy = copyIn(key)
  try {
    // What was sent with a token may be for secured services.
    const check = (event: UnclaimedEvent) => requireRole(env, { secured: isOfToken(event) }, 'invoke')
    if ('heldKey' in copy) return await unclaimed.withdraw(partition, copy.heldKey, check)
    const { moved, failure } = await mailboxes.post(copy.contextId, { type: 'WITHDRAW', ...wanted, caller })
    return failure === null || failure.kind === 'conflict' ? moved : failure
  } catch (error) {
    if (!(error instanceof FluxError)) throw error
    const { kind } = error.failure
    if (kind === 'notFound') return false
    if (kind === 'unauthorized' || kind === 'forbidden') return error.failure
    throw error
  }
}
