// engine/turn: what becomes of the events that a context keeps, within its turn, and the rows that list them. These are
// written in the commit of the context, so they always agree with its record.
import { SYSTEM } from '../../model/caller.ts'
import { messageOf } from '../../model/error-message.ts'
import type { Failure } from '../../model/failure.ts'
import {
  NO_PENDING,
  type PendingEvent,
  type PendingOutcome,
  copyRowKey,
  outcomeRowKey,
  pendingRowKey,
  scopeIn,
  type PendingRow,
} from '../../model/pending.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { StoredContext } from '../../ports/store.ts'
import type { Input } from '../interpreter/decision.ts'
import { nextPending, unexpired, without } from '../interpreter/early.ts'
import { Lacking } from './turn-data.ts'
import { pendingOf } from '../record/decode.ts'
import { NONE_SETTLED, type Applied, type TrackedContext } from './message.ts'
import type { ContextId } from '../../model/context.ts'

/**
 * Takes the oldest event that the context keeps and waits for now, as if it had come now; one whose time is over is only
 * removed. Returns false if there is none. @throws Lacking
 */
export function takeNext(context: TrackedContext, now: number, apply: (input: Input) => Applied): boolean {
  const event = nextPending(context.flux, context.record)
  if (!event) return false
  const { record: before } = context
  context.record = without(before, [event], now)
  if (!unexpired([event], now).length) return true
  // A wait that ends in the turn in which it began is no pause.
  context.record = { ...context.record, paused: context.before?.paused }
  const failure = tryToApply(context, event, apply)
  if (failure) context.record = { ...context.record, paused: before.paused }
  const { id, state } = context.record
  const moved = { became: 'moved', contextId: id, state: context.flux.states[state]?.name ?? '', at: now } as const
  settle(context, event, failure ? { became: 'expired', at: now, reason: failure.detail } : moved, failure)
  return true
}

/** Why the context can't take it; null: it has taken it. That its sender may send it was checked when it came. */
function tryToApply(
  context: TrackedContext,
  { event: name, eventId, input, untyped }: PendingEvent,
  apply: (input: Input) => Applied,
): Failure | null {
  const { record } = context
  try {
    const applied = apply({ type: 'EVENT', name, eventId, input, untyped, tags: null, caller: SYSTEM })
    return applied.kind === 'refused' ? applied.failure : null
  } catch (error) {
    if (error instanceof Lacking || context.record !== record) throw error
    return { kind: 'internal', detail: `the server could not process it: ${messageOf(error)}` }
  }
}

/** What changes where an event ceases to be pending. */
type Settling = Pick<TrackedContext, 'record' | 'settled'>

/** Notes what became of an event that the context keeps no more. */
export function settle(
  context: Settling,
  event: PendingEvent,
  outcome: PendingOutcome,
  failure: Failure | null = null,
): void {
  context.settled = [...context.settled, { event, outcome, failure }]
}

/** The context has ended: it keeps no events. */
export function endPending(context: Settling, now: number): void {
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

/** What a context that is ended without a turn keeps until then: its record, of which only the head was read, and rows. */
export function endWithoutTurn(
  {
    before,
    parts,
    record,
  }: { readonly before: ContextRecord; readonly parts: StoredContext['parts']; readonly record: ContextRecord },
  env: RowsEnv & { readonly now: number },
): { readonly record: ContextRecord; readonly rows: readonly RowWrite[] } {
  const pending = readable(parts)
  const ended = { before: { ...before, pending }, record: { ...record, pending }, settled: NONE_SETTLED }
  endPending(ended, env.now)
  return { record: ended.record, rows: pendingRowsOf(new Map([[record.id, ended]]), env) }
}

/** What can't be read must not keep the context from ending. */
function readable(parts: StoredContext['parts']): readonly PendingEvent[] {
  try {
    return pendingOf(parts)
  } catch {
    return NO_PENDING
  }
}

export interface RowsEnv {
  readonly partitions: number
  /** Milliseconds for which receipts are kept. */
  readonly receiptsMs: number
}

type Changed = Pick<TrackedContext, 'before' | 'record' | 'settled'>

const NO_ROWS: readonly RowWrite[] = []

/** The rows that list what those contexts keep, and tell what became of what they have kept. */
export function pendingRowsOf(contexts: ReadonlyMap<ContextId, Changed>, env: RowsEnv): readonly RowWrite[] {
  let rows: Map<string, RowWrite> | null = null
  for (const context of contexts.values()) {
    const { before, record, settled } = context
    if (settled === NONE_SETTLED && record.pending === (before?.pending ?? NO_PENDING)) continue
    rows ??= new Map()
    // A sender may use an id again, once the first use of it is forgotten: each row is written once.
    for (const row of [...listRows(context, env), ...outcomeRows(context, env)])
      rows.set(`${row.space}:${row.key}`, row)
  }
  return rows === null ? NO_ROWS : [...rows.values()]
}

/** Rows that list what the context keeps now, and the deletion of those that list what it keeps no more. */
function listRows({ before, record }: Changed, { partitions }: RowsEnv): RowWrite[] {
  const [old, now] = [
    rowsByKey(before?.pending ?? NO_PENDING, record, partitions),
    rowsByKey(record.pending, record, partitions),
  ]
  const gone = [...old].flatMap(([name, row]) => (now.has(name) ? [] : [{ ...row, value: null, expiresAt: null }]))
  const added = [...now].flatMap(([name, row]) => (isSame(row, old.get(name)) ? [] : [row]))
  return [...gone, ...added]
}

const isSame = (row: RowWrite, before: RowWrite | undefined): boolean =>
  row.value === before?.value && row.expiresAt === before.expiresAt

function rowsByKey(
  pending: readonly PendingEvent[],
  { id: contextId, package: owner, fluxName }: ContextRecord,
  partitions: number,
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

/** Of a context that is started, nothing was acknowledged as pending. */
function outcomeRows({ before, record: { id }, settled }: Changed, { partitions, receiptsMs }: RowsEnv): RowWrite[] {
  if (before === null) return []
  return settled.flatMap(({ event: { receipt, receivedAt }, outcome }) =>
    receipt === null
      ? []
      : [
          {
            partition: id % partitions,
            space: 'items' as const,
            key: outcomeRowKey(receipt, id),
            value: JSON.stringify(outcome),
            // Not before the receipt, which was written about when the event came.
            expiresAt: receivedAt + receiptsMs + RECEIPT_SLACK_MS,
          },
        ],
  )
}

/** A server may take as long to write a receipt. */
const RECEIPT_SLACK_MS = 600_000
