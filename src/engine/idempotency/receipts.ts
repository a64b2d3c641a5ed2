// engine/idempotency: what became of an event, as its rows tell.
import type { Receipt } from '../../api/get-event.ts'
import { SEND_EVENT } from '../../api/send-event.ts'
import type { Store } from '../../ports/store.ts'
import { itemsOf } from './broadcast-items.ts'
import { findKept } from './kept-row.ts'
import { readKept, rowKeyOf, type ScopedKey } from './kept-answer.ts'
import { repeatsOf } from './repeats.ts'

/** Entries of each list. */
const MAX_LISTED = 1000

/** Null: nothing is kept of it. */
export async function receiptOf(store: Store, event: ScopedKey): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const row = await findKept(store, key)
  if (!row) return null
  const { at, event: name = '', answer: given } = readKept(row.value)
  const answer = given && SEND_EVENT.answer.parse(given)
  const items = await itemsOf(store, key)
  const toldOf = (kind: 'transitions' | 'executions') => {
    const found = items.flatMap((item) => (item.answer === kind ? [{ ...item.stand, at: item.at }] : []))
    // An event for one context has no items: all it did is in its answer.
    return found.length > 0
      ? found.sort((a, b) => a.at - b.at)
      : (answer?.[kind] ?? []).map((stand) => ({ ...stand, at }))
  }
  const [moved, started] = [toldOf('transitions'), toldOf('executions')]
  const { ignored, pending } = answer ?? { ignored: [], pending: [] }
  return {
    eventId: event.key,
    event: name,
    receivedAt: at,
    repeated: await repeatsOf(store, row),
    moved: moved.slice(-MAX_LISTED),
    started: started.slice(-MAX_LISTED),
    ignored: ignored.slice(-MAX_LISTED),
    pending: pending.slice(-MAX_LISTED),
    expired: [],
    withdrawn: [],
    counts: {
      moved: moved.length,
      started: started.length,
      ignored: ignored.length,
      pending: pending.length,
      expired: 0,
      withdrawn: 0,
    },
    done: answer !== null,
  }
}
