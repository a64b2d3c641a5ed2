// engine/calls: `withdraw` takes back an event that is pending: from each context that keeps it, and where it is held for
// nobody yet. Several senders may have used the same id: what is the caller's own goes first, and alone.
import { CALLS, type CheckedCall } from '../../api/calls.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import { denial } from '../../model/caller.ts'
import { conflict, FluxError, notFound, type Failure } from '../../model/failure.ts'
import { copiesPrefix, copyIn, scopeIn } from '../../model/pending.ts'
import type { StoredRow } from '../../model/rows.ts'
import { keptOfEvent, rowKeyOf } from '../idempotency/kept-answer.ts'
import { isOfToken, type HeldEvent } from '../pending/held-event.ts'
import { BroadcastPlace } from '../fanout/broadcast-place.ts'
import type { CallEnv } from './call-env.ts'

/** Copies that are withdrawn at the same time. */
const WAVE = 100

/** What became of one copy: withdrawn, or no longer pending, or the reason why this caller may not withdraw it. */
type Withdrawn = boolean | Failure

/** See `FluxApi`. */
export async function withdraw(env: CallEnv, { eventId }: CheckedCall<'withdraw'>): Promise<MessageAnswer> {
  const own = rowKeyOf({ ...env, of: CALLS.sendEvent, key: eventId })
  const place = new BroadcastPlace(env.isStep ? null : env.broadcasts)
  try {
    const ofOwn = await withdrawAll(env, { eventId, receipt: own }, place)
    if (ofOwn.includes(true)) return { message: `withdrew the event '${eventId}'` }
    // One of its own that is over is what the caller means, and not that of another.
    const { toAll, toSingle } = await keptOfEvent(env.store, own)
    const isOver = toAll !== null || toSingle.length > 0
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

/** What is to be withdrawn. `receipt`: only what was sent under it; null: whoever sent it. */
interface Wanted {
  readonly eventId: string
  readonly receipt: string | null
}

async function withdrawAll(env: CallEnv, wanted: Wanted, place: BroadcastPlace): Promise<Withdrawn[]> {
  const results: Withdrawn[] = []
  const prefix = copiesPrefix(wanted.eventId)
  for (let after: StoredRow | undefined, rows; rows === undefined || rows.length === WAVE; after = rows.at(-1)) {
    rows = await env.store.listRows({ space: 'copies', prefix, after, limit: WAVE })
    const some = rows.filter((row) => mayBe(row, wanted))
    place.take(results.length + some.length)
    results.push(...(await Promise.all(some.map((row) => withdrawCopy(env, wanted, row)))))
  }
  return results
}

const mayBe = ({ key }: StoredRow, { receipt }: Wanted): boolean =>
  receipt === null || copyIn(key).scope === scopeIn(receipt)

async function withdrawCopy(env: CallEnv, wanted: Wanted, { partition, key }: StoredRow): Promise<Withdrawn> {
  const { caller, held, mailboxes } = env
  const copy = copyIn(key)
  try {
    if ('heldKey' in copy) return await held.withdraw(partition, copy.heldKey, (event) => requireSight(env, event))
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

/** What was sent with a token may be for secured services. */
function requireSight({ caller }: CallEnv, event: HeldEvent): void {
  const failure = isOfToken(event) ? denial(caller, 'invoke') : null
  if (failure) throw new FluxError(failure)
}
