// engine/fanout: what became of an event, by its rows. For a broadcast, that is the last count, and the
// rows of the contexts that it moved since then: as many as lie between two counts, however many it moved before.
import { CALLS } from '../../api/calls.ts'
import type { Receipt } from '../../api/events.ts'
import type { Store } from '../../ports/store.ts'
import { BroadcastTally, newest, type Outcomes } from './outcomes.ts'
import type { StoredRow } from '../../model/rows.ts'
import { outcomeRowKey, outcomesPrefix, type PendingOutcome } from '../../model/pending.ts'
import { allRows, listed } from '../tasks/fan-out.ts'
import { itemsOf, readSummary, type Summary } from './broadcast-rows.ts'
import {
  readKept,
  readKeptToAll,
  readKeptToSingle,
  repeatsOf,
  rowKeyOf,
  type KeptAnswer,
  type ScopedKey,
} from '../idempotency/kept-answer.ts'

/**
 * Null: nothing is kept of it. If several contexts were sent events of that id, they share one receipt. `now`:
 * epoch milliseconds. @throws FluxError `unavailable`
 */
export async function receiptOf(store: Store, event: ScopedKey, now: number): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const toAll = await readKeptToAll(store, key)
  const single = (await readKeptToSingle(store, key)).map(({ value }) => readKept(value)).sort(byTime)
  const broadcast = toAll && readKept(toAll.value)
  const summary = toAll && (await summaryOf(store, toAll))
  const [first = broadcast] = single
  if (!first) return null
  const tally = new BroadcastTally(false, summary?.outcomes)
  for (const one of single) addAnswer(tally, one)
  const whole = tally.outcomes()
  const { moved, ...left } = await leftOf(store, key, whole, now)
  return {
    eventId: event.key,
    event: first.event ?? '',
    receivedAt: Math.min(first.at, broadcast?.at ?? first.at),
    repeated: await repeatsOf(store, key),
    moved: newest([...whole.moved, ...moved].sort(byTime)),
    started: whole.started.sort(byTime),
    ignored: whole.ignored,
    ...left,
    done: summary?.isDone ?? true,
    // A sender that was answered when it was done knows it from the answer.
    ...(summary && broadcast?.isAccepted && { progress: progressOf(summary) }),
  }
}

function progressOf({ matched, dealt: done, outcomes }: Summary) {
  const { moved, started, ignored } = outcomes.counts
  return { matched, done, moved, started, ignored }
}

/** What became of a broadcast: the last count, and the marks after it. Null: it concerned no context. */
async function summaryOf(store: Store, row: StoredRow) {
  const first = await readSummary(store, row)
  if (!first || first.isDone) return first
  const items = await listed(itemsOf(store, row.key, first.cursor))
  // Marks are deleted once it is done.
  const last = await readSummary(store, row)
  if (!last || last.isDone) return last
  const tally = new BroadcastTally(false, first.outcomes)
  for (const item of items.sort(byTime)) tally.add(item)
  const since = items.filter(({ answer }) => answer !== 'executions').length
  return { ...first, dealt: first.dealt + since, outcomes: tally.outcomes() }
}

/** All that an event did to a single context is in its answer. */
function addAnswer(tally: BroadcastTally, { at, answer }: KeptAnswer) {
  const { transitions, executions, ignored, pending } = CALLS.sendEvent.answer.parse(answer)
  for (const stand of transitions) tally.add({ answer: 'transitions', stand, at })
  for (const stand of executions) tally.add({ answer: 'executions', stand, at })
  for (const entry of ignored) tally.add({ answer: 'ignored', entry, failure: null, hasEnded: false })
  for (const kept of pending) tally.add({ answer: 'pending', kept, at })
}

const byTime = (one: { readonly at: number }, other: { readonly at: number }) => one.at - other.at

/**
 * What became of the contexts for which it was pending. An event counts as expired once its time is over, even before
 * the store notes it.
 */
async function leftOf(store: Store, key: string, counted: Outcomes, now: number) {
  const left: Pick<Receipt, 'moved' | 'pending' | 'expired' | 'withdrawn'> = {
    moved: [],
    pending: [],
    expired: [],
    withdrawn: [],
  }
  const { moved, pending, expired, withdrawn } = left
  const counts = { ...counted.counts, expired: 0, withdrawn: 0 }
  const outcomes = new Map<string, PendingOutcome>()
  const note = (rowKey: string, outcome: PendingOutcome) => {
    outcomes.set(rowKey, outcome)
    counts.pending -= 1
    counts[outcome.became] += 1
  }
  if (counts.pending > 0)
    for await (const row of allRows(store, { space: 'items', prefix: outcomesPrefix(key) }))
      note(row.key, JSON.parse(row.value))
  for (const entry of counted.pending) {
    const { contextId, expiresAt } = entry
    const rowKey = outcomeRowKey(key, contextId)
    if (!outcomes.has(rowKey) && expiresAt !== null && expiresAt <= now)
      note(rowKey, { became: 'expired', at: expiresAt, reason: 'its time was over' })
    const outcome = outcomes.get(rowKey)
    if (!outcome) pending.push(entry)
    else if (outcome.became === 'moved')
      moved.push({ contextId: outcome.contextId, state: outcome.state, at: outcome.at })
    else if (outcome.became === 'expired') expired.push({ contextId, at: outcome.at, reason: outcome.reason })
    else withdrawn.push({ contextId, at: outcome.at })
  }
  return { moved, pending, expired: expired.sort(byTime), withdrawn: withdrawn.sort(byTime), counts }
}
