// engine/turn: the rows of events that come early. They are written in the commit of the context that keeps the events, so
// they always agree with its record.
import {
  copyRowKey,
  NO_PENDING,
  outcomeRowKey,
  pendingRowKey,
  scopeIn,
  type PendingEvent,
  type PendingRow,
} from '../../model/pending.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import { NONE_SETTLED, type TrackedContext } from './tracked-context.ts'

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
