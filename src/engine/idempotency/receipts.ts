// engine/idempotency: what became of an event, as its rows tell. Of a broadcast that is what was counted last, and the
// rows of whom it moved since then: as many as lie between two counts, however many it moved before.
import type { Receipt } from '../../api/get-event.ts'
import { SEND_EVENT, type EventAnswer } from '../../api/send-event.ts'
import type { Store } from '../../ports/store.ts'
import { BroadcastTally, newest, NOTHING_TOLD, type Told } from '../calls/broadcast-tally.ts'
import { itemsOf } from './broadcast-items.ts'
import { readSummary, type Summary } from './broadcast-rows.ts'
import { findKept } from './kept-row.ts'
import { readKept, rowKeyOf, type KeptAnswer, type ScopedKey } from './kept-answer.ts'
import { repeatsOf } from './repeats.ts'

/** Null: nothing is kept of it. */
export async function receiptOf(store: Store, event: ScopedKey): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const row = await findKept(store, key)
  if (!row) return null
  const kept = readKept(row.value)
  const answer = kept.answer && SEND_EVENT.answer.parse(kept.answer)
  const summary = await readSummary(store, row)
  const isDone = summary ? summary.isDone : answer !== null && !kept.isAccepted
  const { told, progress } = isDone
    ? { told: summary?.told ?? toldBy(answer, kept), progress: progressOf(summary, summary?.told) }
    : await soFar(store, key, summary)
  const pending = answer?.pending ?? []
  return {
    eventId: event.key,
    event: kept.event ?? '',
    receivedAt: kept.at,
    repeated: await repeatsOf(store, row),
    moved: [...told.moved],
    started: [...told.started],
    ignored: told.ignored,
    pending: newest(pending),
    expired: [],
    withdrawn: [],
    counts: { ...told.counts, pending: pending.length, expired: 0, withdrawn: 0 },
    done: isDone,
    ...progress,
  }
}

/** Of a broadcast that is under way, or was cut off. */
async function soFar(store: Store, key: string, summary: Summary | null) {
  const tally = new BroadcastTally({ whole: false, before: summary?.told ?? NOTHING_TOLD })
  const items = await itemsOf(store, key, summary?.cursor ?? 0)
  tally.add(items)
  const told = tally.told()
  const since = items.filter(({ answer }) => answer === 'transitions').length
  return { told, progress: progressOf(summary && { ...summary, dealt: summary.dealt + since }, told) }
}

const progressOf = (summary: Summary | null, told: Told | undefined): Pick<Receipt, 'progress'> =>
  summary && told ? { progress: { matched: summary.matched, done: summary.dealt, ...told.counts } } : {}

/** Of an event for one context: all it did is in its answer. */
function toldBy(answer: EventAnswer | null, { at }: KeptAnswer): Told {
  if (!answer) return NOTHING_TOLD
  const { transitions, executions, ignored } = answer
  return {
    counts: { moved: transitions.length, started: executions.length, ignored: ignored.length },
    moved: newest(transitions).map((stand) => ({ ...stand, at })),
    started: newest(executions).map((stand) => ({ ...stand, at })),
    ignored: newest(ignored),
  }
}
