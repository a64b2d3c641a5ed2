// engine/fanout: what became of an event, by its rows. Of a broadcast that is what was counted last, and the
// rows of whom it moved since then: as many as lie between two counts, however many it moved before.
import { CALLS } from '../../api/calls.ts'
import { type EventAnswer, type Receipt } from '../../api/events.ts'
import type { Store } from '../../ports/store.ts'
import { BroadcastTally, countsOf, newest, NO_OUTCOMES, type Outcomes } from './outcomes.ts'
import type { ContextId } from '../../model/context.ts'
import { outcomeRowKey, type PendingOutcome } from '../../model/pending.ts'
import { itemsInReach, outcomesOf, receiverOf, readSummary, type Summary } from './broadcast-rows.ts'
import {
  keptOfEvent,
  readKept,
  repeatsOf,
  rowKeyOf,
  type KeptAnswer,
  type KeptRow,
  type ScopedKey,
} from '../idempotency/kept-answer.ts'

/**
 * Null: nothing is kept of it. Several contexts may have been sent events of that id: their receipt is one. `now`: epoch
 * milliseconds.
 */
export async function receiptOf(store: Store, event: ScopedKey, now: number): Promise<Receipt | null> {
  const key = rowKeyOf(event)
  const { toAll, toSingle } = await keptOfEvent(store, key)
  const single = toSingle.map(({ value }) => readKept(value)).sort(byTime)
  const broadcast = toAll && (await broadcastOf(store, toAll))
  const [first = broadcast?.kept] = single
  if (first === undefined) return null
  const whole = single.reduce(
    (outcomes, kept) => joined(outcomes, outcomesIn(CALLS.sendEvent.answer.parse(kept.answer), kept)),
    broadcast?.outcomes ?? NO_OUTCOMES,
  )
  const { moved, pending, expired, withdrawn, counts } = await leftOf(store, key, whole, now)
  return {
    eventId: event.key,
    event: first.event ?? '',
    receivedAt: Math.min(first.at, broadcast?.kept.at ?? first.at),
    repeated: await repeatsOf(store, key),
    moved: newest([...whole.moved, ...moved].sort(byTime)),
    started: [...whole.started],
    ignored: whole.ignored,
    pending,
    expired: newest(expired),
    withdrawn: newest(withdrawn),
    counts,
    done: broadcast?.isDone ?? true,
    ...broadcast?.progress,
  }
}

/** Of several events of one id. */
function joined(one: Outcomes, other: Outcomes): Outcomes {
  const [a, b] = [one.counts, other.counts]
  return {
    counts: {
      moved: a.moved + b.moved,
      started: a.started + b.started,
      ignored: a.ignored + b.ignored,
      pending: a.pending + b.pending,
    },
    moved: [...one.moved, ...other.moved],
    started: newest([...one.started, ...other.started].sort(byTime)),
    ignored: newest([...one.ignored, ...other.ignored]),
    pending: newest([...one.pending, ...other.pending]),
  }
}

/** What became of it as it was sent to all. */
async function broadcastOf(store: Store, row: KeptRow) {
  const kept = readKept(row.value)
  const answer = kept.answer && CALLS.sendEvent.answer.parse(kept.answer)
  const first = await readSummary(store, row)
  const isOver = first ? first.isDone : answer !== null && !kept.isAccepted
  const current = isOver ? null : await soFar(store, row.key, first)
  // Rows behind the first are deleted once it is done.
  const summary = current ? await readSummary(store, row) : first
  const isDone = isOver || summary?.isDone === true
  const { outcomes, progress } =
    current && !isDone
      ? current
      : {
          outcomes: summary?.outcomes ?? (answer ? outcomesIn(answer, kept) : NO_OUTCOMES),
          progress: progressOf(summary, summary?.outcomes),
        }
  return {
    kept,
    isDone,
    outcomes,
    // Who was answered when it was done knows it from the answer.
    progress: kept.isAccepted ? progress : {},
  }
}

/** Of a broadcast that is under way, or was cut off. */
async function soFar(store: Store, key: string, summary: Summary | null) {
  const tally = new BroadcastTally({ whole: false, before: summary?.outcomes ?? NO_OUTCOMES })
  const items = await itemsInReach(store, key, summary?.cursor ?? 0)
  tally.add(items)
  const outcomes = tally.outcomes()
  const since = items.filter((item) => receiverOf(item) !== null).length
  return { outcomes, progress: progressOf(summary && { ...summary, dealt: summary.dealt + since }, outcomes) }
}

function progressOf(summary: Summary | null, outcomes: Outcomes | undefined): Pick<Receipt, 'progress'> {
  if (!summary || !outcomes) return {}
  const { moved, started, ignored } = outcomes.counts
  return { progress: { matched: summary.matched, done: summary.dealt, moved, started, ignored } }
}

/** All it did is in its answer. */
function outcomesIn(answer: EventAnswer, { at }: KeptAnswer): Outcomes {
  const { transitions, executions, ignored, pending } = answer
  return {
    counts: countsOf(answer),
    moved: newest(transitions).map((stand) => ({ ...stand, at })),
    started: newest(executions).map((stand) => ({ ...stand, at })),
    ignored: newest(ignored),
    pending: newest(pending),
  }
}

const byTime = (one: { readonly at: number }, other: { readonly at: number }): number => one.at - other.at

type Left = Pick<Receipt, 'moved' | 'pending' | 'expired' | 'withdrawn' | 'counts'>

/** What became of those for whom it was pending. That the time of one is over is true whether or not anybody saw it. */
async function leftOf(store: Store, key: string, counted: Outcomes, now: number): Promise<Left> {
  const counts = { ...counted.counts, expired: 0, withdrawn: 0 }
  const left: Left = { moved: [], pending: [], expired: [], withdrawn: [], counts }
  if (counts.pending === 0) return left
  const outcomes = await outcomesOf(store, key)
  for (const { became } of outcomes.values()) {
    counts.pending -= 1
    counts[became] += 1
  }
  for (const entry of counted.pending) {
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
