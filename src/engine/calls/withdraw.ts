// engine/calls: `withdraw` takes back an event that is pending: from each context that keeps it, and where it is held for
// nobody yet.
import { check } from '../../api/check.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import { WITHDRAW, type WithdrawRequest } from '../../api/withdraw.ts'
import { denial } from '../../model/caller.ts'
import { conflict, FluxError, notFound, type Failure } from '../../model/failure.ts'
import { copiesPrefix } from '../../model/pending.ts'
import type { StoredRow } from '../../model/rows.ts'
import { findKept } from '../idempotency/kept-row.ts'
import { rowKeyOf } from '../idempotency/kept-answer.ts'
import { heldKeyIn, isOfToken, type HeldEvent } from '../pending/held-event.ts'
import { BroadcastPlace } from './broadcast-place.ts'
import type { CallEnv } from './call-env.ts'

/** Copies that are withdrawn at the same time. */
const WAVE = 100

/** What became of one copy: withdrawn, or no longer pending, or the reason why this caller may not withdraw it. */
type Withdrawn = boolean | Failure

/** See `FluxApi`. */
export async function withdrawEvent(env: CallEnv, request: WithdrawRequest): Promise<MessageAnswer> {
  const { eventId } = check(WITHDRAW, request)
  const place = new BroadcastPlace(env.isStep ? null : env.broadcasts)
  const results: Withdrawn[] = []
  try {
    const prefix = copiesPrefix(eventId)
    for (let after: StoredRow | undefined, rows; rows === undefined || rows.length === WAVE; after = rows.at(-1)) {
      rows = await env.store.listRows({ space: 'copies', prefix, after, limit: WAVE })
      place.take(results.length + rows.length)
      results.push(...(await Promise.all(rows.map((row) => withdrawCopy(env, eventId, row)))))
    }
  } finally {
    place.release()
  }
  if (results.includes(true)) return { message: `withdrew the event '${eventId}'` }
  const denied = results.find((result) => typeof result !== 'boolean')
  if (denied) throw new FluxError(denied)
  const isKnown = results.length > 0 || (await findKept(env.store, rowKeyOf({ ...env, of: SEND_EVENT, key: eventId })))
  throw isKnown ? conflict(`nothing of the event '${eventId}' is pending any more`) : unknown(eventId)
}

const unknown = (eventId: string) => notFound(`no event '${eventId}' is pending`)

async function withdrawCopy(env: CallEnv, eventId: string, { partition, key }: StoredRow): Promise<Withdrawn> {
  const { caller, held, mailboxes } = env
  const heldKey = heldKeyIn(key)
  try {
    if (heldKey !== null) return await held.withdraw(partition, heldKey, (event) => requireSight(env, event))
    const contextId = Number(key.slice(copiesPrefix(eventId).length))
    const { moved, failure } = await mailboxes.post(contextId, { type: 'WITHDRAW', eventId, caller })
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
