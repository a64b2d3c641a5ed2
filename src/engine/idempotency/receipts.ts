// engine/idempotency: what became of an event, as its rows tell. Of a broadcast that is what was counted last, and the
// rows of whom it moved since then: as many as lie between two counts, however many it moved before.
import type { Receipt } from '../../api/get-event.ts'
import { SEND_EVENT, type EventAnswer } from '../../api/send-event.ts'
import type { Store } from '../../ports/store.ts'
import { BroadcastTally, newest, NOTHING_TOLD, type Told } from '../calls/broadcast-tally.ts'
import type { ContextId } from '../../model/context.ts'
import { outcomeRowKey, type PendingOutcome } from '../../model/pending.ts'
import { itemsOf, itemsOfContexts, outcomesOf, receiverOf } from './broadcast-items.ts'
import { readSummary, type Summary } from './broadcast-rows.ts'
import { findKept } from './kept-row.ts'
import { readKept, rowKeyOf, type KeptAnswer, type ScopedKey } from './kept-answer.ts'
import { repeatsOf } from './repeats.ts'

/** Null: nothing is kept of it. `now`: epoch milliseconds. */
export async function receiptOf(store: Store, event: ScopedKey, now: number): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const row = await findKept(store, key)
  if (!row) return null
  const kept = readKept(row.value)
  const answer = kept.answer && SEND_EVENT.answer.parse(kept.answer)
  const first = await readSummary(store, row)
  const isOver = first ? first.isDone : answer !== null && !kept.isAccepted
  const current = isOver ? null : await soFar(store, key, first)
  // Rows behind the first are deleted once it is done.
  const summary = current ? await readSummary(store, row) : first
  const isDone = isOver || summary?.isDone === true
  const { told: counted, progress } =
    current && !isDone
      ? current
      : { told: summary?.told ?? toldBy(answer, kept), progress: progressOf(summary, summary?.told) }
  const told = await certain(store, key, counted)
  const { moved, pending, expired, withdrawn, counts } = await leftOf(store, key, told, now)
  return {
    eventId: event.key,
    event: kept.event ?? '',
    receivedAt: kept.at,
    repeated: await repeatsOf(store, row),
    moved: newest([...told.moved, ...moved].sort(byTime)),
    started: [...told.started],
    ignored: told.ignored,
    pending,
    expired: newest(expired),
    withdrawn: newest(withdrawn),
    counts,
    done: isDone,
    // Who was answered when it was done knows it from the answer.
    ...(kept.isAccepted ? progress : {}),
  }
}

/** With those that it moved although the store did not tell the server so. */
async function certain(store: Store, key: string, told: Told): Promise<Told> {
  if (told.inDoubt.length === 0) return told
  const known = new Set(told.started.map(({ contextId }) => contextId))
  const found = await itemsOfContexts(store, key, told.inDoubt)
  const items = found.filter((item) => item.answer !== 'executions' || !known.has(item.stand.contextId))
  if (items.length === 0) return told
  const reached = new Set(items.map(receiverOf))
  const started = new Set(items.flatMap((item) => (item.answer === 'executions' ? [item.fluxName] : [])))
  const ignored = told.ignored.filter(({ contextId, fluxName }) =>
    contextId === null ? !started.has(fluxName) : !reached.has(contextId),
  )
  const counts = { ...told.counts, ignored: told.counts.ignored - items.length }
  const tally = new BroadcastTally({ whole: false, before: { ...told, ignored, counts } })
  tally.add(items)
  return tally.told()
}

/** Of a broadcast that is under way, or was cut off. */
async function soFar(store: Store, key: string, summary: Summary | null) {
  const tally = new BroadcastTally({ whole: false, before: summary?.told ?? NOTHING_TOLD })
  const items = await itemsOf(store, key, summary?.cursor ?? 0)
  tally.add(items)
  const told = tally.told()
  const since = items.filter((item) => receiverOf(item) !== null).length
  return { told, progress: progressOf(summary && { ...summary, dealt: summary.dealt + since }, told) }
}

function progressOf(summary: Summary | null, told: Told | undefined): Pick<Receipt, 'progress'> {
  if (!summary || !told) return {}
  const { moved, started, ignored } = told.counts
  return { progress: { matched: summary.matched, done: summary.dealt, moved, started, ignored } }
}

/** Of an event for one context: all it did is in its answer. */
function toldBy(answer: EventAnswer | null, { at }: KeptAnswer): Told {
  if (!answer) return NOTHING_TOLD
  const { transitions, executions, ignored, pending } = answer
  return {
    counts: {
      moved: transitions.length,
      started: executions.length,
      ignored: ignored.length,
      pending: pending.length,
    },
    moved: newest(transitions).map((stand) => ({ ...stand, at })),
    started: newest(executions).map((stand) => ({ ...stand, at })),
    ignored: newest(ignored),
    pending: newest(pending),
    inDoubt: [],
  }
}

const byTime = (one: { readonly at: number }, other: { readonly at: number }): number => one.at - other.at

type Left = Pick<Receipt, 'moved' | 'pending' | 'expired' | 'withdrawn' | 'counts'>

/** What became of those for whom it was pending. That the time of one is over is true whether or not anybody saw it. */
async function leftOf(store: Store, key: string, told: Told, now: number): Promise<Left> {
  const counts = { ...told.counts, expired: 0, withdrawn: 0 }
  const left: Left = { moved: [], pending: [], expired: [], withdrawn: [], counts }
  if (counts.pending === 0) return left
  const outcomes = await outcomesOf(store, key)
  for (const { became } of outcomes.values()) {
    counts.pending -= 1
    counts[became] += 1
  }
  for (const entry of told.pending) {
    const { contextId, expiresAt } = entry
    const outcome = outcomes.get(outcomeRowKey(key, contextId))
    if (outcome !== undefined) addOutcome(left, contextId, outcome)
    else if (expiresAt === null || expiresAt > now) left.pending.push(entry)
    else {
      counts.pending -= 1
      counts.expired += 1
      left.expired.push({ contextId, at: expiresAt, reason: 'its time was over' })
    }
  }
  left.expired.sort(byTime)
  left.withdrawn.sort(byTime)
  return left
}

function addOutcome(left: Left, contextId: ContextId | null, outcome: PendingOutcome): void {
  const { at } = outcome
  switch (outcome.became) {
    case 'moved':
      return void left.moved.push({ contextId: outcome.contextId, state: outcome.state, at })
    case 'expired':
      return void left.expired.push({ contextId, at, reason: outcome.reason })
    case 'withdrawn':
      return void left.withdrawn.push({ contextId, at })
  }
}
