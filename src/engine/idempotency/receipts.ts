// engine/idempotency: what became of an event, as its rows tell.
import type { Receipt } from '../../api/get-event.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import type { ContextId } from '../../model/context.ts'
import type { Store } from '../../ports/store.ts'
import { itemsOf } from './broadcast-items.ts'
import { outcomeRowKey, type PendingOutcome } from '../../model/pending.ts'
import { findKept } from './kept-row.ts'
import { readKept, rowKeyOf, type ScopedKey } from './kept-answer.ts'
import { repeatsOf } from './repeats.ts'

/** Entries of each list. */
const MAX_LISTED = 1000

/** Null: nothing is kept of it. `now`: epoch milliseconds. */
export async function receiptOf(store: Store, event: ScopedKey, now: number): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const row = await findKept(store, key)
  if (!row) return null
  const { at, event: name = '', answer: given } = readKept(row.value)
  const answer = given && SEND_EVENT.answer.parse(given)
  const { items, outcomes } = await itemsOf(store, key)
  const kept = new Map((answer?.pending ?? []).map((entry) => [entry.contextId, entry]))
  for (const item of items.values()) if (item.answer === 'pending') kept.set(item.kept.contextId, item.kept)
  const left = leftOf([...kept.values()], (id) => outcomes.get(outcomeRowKey(key, id)), now)
  const toldOf = (kind: 'transitions' | 'executions') => {
    const found = [...items.values()].flatMap((item) => (item.answer === kind ? [{ ...item.stand, at: item.at }] : []))
    // An event for one context has no items: all it did is in its answer.
    return found.length > 0 ? found : (answer?.[kind] ?? []).map((stand) => ({ ...stand, at }))
  }
  const moved = [...toldOf('transitions'), ...left.moved].sort(byTime)
  const started = toldOf('executions').sort(byTime)
  const { ignored } = answer ?? { ignored: [] }
  const { pending, expired, withdrawn } = left
  return {
    eventId: event.key,
    event: name,
    receivedAt: at,
    repeated: await repeatsOf(store, row),
    moved: moved.slice(-MAX_LISTED),
    started: started.slice(-MAX_LISTED),
    ignored: ignored.slice(-MAX_LISTED),
    pending: pending.slice(-MAX_LISTED),
    expired: expired.slice(-MAX_LISTED),
    withdrawn: withdrawn.slice(-MAX_LISTED),
    counts: {
      moved: moved.length,
      started: started.length,
      ignored: ignored.length,
      pending: pending.length,
      expired: expired.length,
      withdrawn: withdrawn.length,
    },
    done: answer !== null,
  }
}

const byTime = (one: { readonly at: number }, other: { readonly at: number }): number => one.at - other.at

type Left = Pick<Receipt, 'moved' | 'pending' | 'expired' | 'withdrawn'>

/** What became of events that were pending. That the time of one is over is true whether or not anybody saw it. */
function leftOf(
  kept: Receipt['pending'],
  outcomeOf: (id: ContextId | null) => PendingOutcome | undefined,
  now: number,
): Left {
  const left: Left = { moved: [], pending: [], expired: [], withdrawn: [] }
  for (const entry of kept) {
    const { contextId, expiresAt } = entry
    const outcome = outcomeOf(contextId)
    if (outcome?.became === 'moved')
      left.moved.push({ contextId: outcome.contextId, state: outcome.state, at: outcome.at })
    else if (outcome?.became === 'expired') left.expired.push({ contextId, at: outcome.at, reason: outcome.reason })
    else if (outcome?.became === 'withdrawn') left.withdrawn.push({ contextId, at: outcome.at })
    else if (expiresAt !== null && expiresAt <= now)
      left.expired.push({ contextId, at: expiresAt, reason: 'its time was over' })
    else left.pending.push(entry)
  }
  left.expired.sort(byTime)
  left.withdrawn.sort(byTime)
  return left
}
