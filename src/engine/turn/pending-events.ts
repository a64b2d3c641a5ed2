// engine/turn: what became of the events that a context has kept, and the rows that list those that it keeps. These are
// written in the commit of the context, so they always agree with its record.
import type { Failure } from '../../model/failure.ts'
import {
  type PendingOutcome,
  type PendingRow,
  copyRowKey,
  outcomeRowKey,
  pendingRowKey,
  scopeIn,
} from '../../model/pending.ts'
import { type ContextRecord, NO_PENDING, type PendingEvent } from '../../model/context.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { StoredContext } from '../../ports/store.ts'
import type { KnownContext } from '../contexts/context-loader.ts'
import { unexpired } from '../interpreter/early.ts'
import { pendingOf } from '../record/decode.ts'
import { NO_ROWS, NONE_SETTLED, TrackedContext, type TurnEnv } from './message.ts'

/** Notes what became of an event that the context keeps no more. */
export function settle(
  context: TrackedContext,
  event: PendingEvent,
  outcome: PendingOutcome,
  failure: Failure | null = null,
): void {
  context.settled = [...context.settled, { event, outcome, failure }]
}

/** The context has ended: it keeps no events. */
export function endPending(context: TrackedContext, now: number): void {
  const { pending } = context.record
  if (pending.length === 0) return
  context.record = { ...context.record, pending: NO_PENDING }
  for (const event of unexpired(pending, now))
    settle(context, event, { became: 'expired', at: now, reason: 'the context ended' })
}

/** Logs, after the commit, events that were kept and could not be taken. */
export function logSettled(log: Log, { settled, record: { id, fluxName } }: TrackedContext): void {
  if (settled === NONE_SETTLED) return
  for (const { event, failure } of settled)
    if (failure)
      log.warn('an event that came early could not be taken', {
        contextId: id,
        fluxName,
        event: event.event,
        eventId: event.eventId,
        reason: failure.detail,
      })
}

/** A context that is ended by its head alone, and the events that it kept until then. */
export function endedUnread(before: ContextRecord, { record, flux, texts }: KnownContext, now: number): TrackedContext {
  const pending = readable(texts)
  const context = new TrackedContext({ ...before, pending }, { record: { ...record, pending }, flux, texts })
  endPending(context, now)
  return context
}

/** What can't be read must not keep the context from ending. */
function readable(parts: StoredContext['parts']): readonly PendingEvent[] {
  try {
    return pendingOf(parts)
  } catch {
    return NO_PENDING
  }
}

/** The rows that list what a context keeps, and record what became of what it has kept. */
export function pendingRowsOf({ before, record, settled }: TrackedContext, env: TurnEnv): readonly RowWrite[] {
  const earlier = before?.pending ?? NO_PENDING
  if (settled === NONE_SETTLED && record.pending === earlier) return NO_ROWS
  const [old, now] = [listRows(earlier, record, env), listRows(record.pending, record, env)]
  // A sender may use an id again, once the first use of it is forgotten: each row is written once.
  const rows = new Map<string, RowWrite>()
  for (const [name, row] of old) if (!now.has(name)) rows.set(name, { ...row, value: null, expiresAt: null })
  for (const [name, row] of now) {
    const { value, expiresAt } = old.get(name) ?? {}
    if (row.value !== value || row.expiresAt !== expiresAt) rows.set(name, row)
  }
  // A context that is started has no event that was acknowledged as pending.
  for (const { event, outcome } of before === null ? [] : settled)
    if (event.receipt !== null) {
      const key = outcomeRowKey(event.receipt, record.id)
      // No earlier than the receipt, which was written about when the event came.
      const expiresAt = event.receivedAt + env.receiptsMs + RECEIPT_SLACK_MS
      const value = JSON.stringify(outcome)
      rows.set(`items:${key}`, { partition: record.id % env.partitions, space: 'items', key, value, expiresAt })
    }
  return [...rows.values()]
}

/** The longest time that a server may take to write a receipt. */
const RECEIPT_SLACK_MS = 600_000

/** Rows that list those events of a context, by name. */
function listRows(
  pending: readonly PendingEvent[],
  { id: contextId, package: owner, fluxName }: ContextRecord,
  { partitions }: TurnEnv,
): Map<string, RowWrite> {
  const rows = new Map<string, RowWrite>()
  const partition = contextId % partitions
  for (const { eventId, event, tags, receivedAt, expiresAt, receipt } of pending) {
    const listed: PendingRow = { eventId, event, contextId, package: owner, fluxName, tags, receivedAt, expiresAt }
    const scope = scopeIn(receipt)
    const [key, copy] = [pendingRowKey(listed, scope), copyRowKey(eventId, contextId, scope)]
    rows.set(`pending:${key}`, { partition, space: 'pending', key, value: JSON.stringify(listed), expiresAt })
    const earlier = rows.get(`copies:${copy}`)
    const both = earlier === undefined ? expiresAt : later(earlier.expiresAt, expiresAt)
    rows.set(`copies:${copy}`, { partition, space: 'copies', key: copy, value: key, expiresAt: both })
  }
  return rows
}

const later = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : Math.max(one, other)
