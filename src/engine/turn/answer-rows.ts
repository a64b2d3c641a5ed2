// engine/turn: the first answer of a context whose webhook was called under a key. It is written in the commit that
// gives the context its answer, whichever server makes it, so it outlives the context and no crash comes in between.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { RowWrite } from '../../model/rows.ts'
import { answerOf, hasAnswer } from './webhook-answer.ts'

interface Changed {
  readonly before: ContextRecord | null
  readonly record: ContextRecord
  readonly flux: CompiledFlux
}

/**
 * Milliseconds, and part of its time, for which a row is no more written before it expires: by the clock of another
 * server it may be expired already, and be that of another call.
 */
const LEAVE = { ms: 60_000, part: 0.1 }

const NO_ROWS: readonly RowWrite[] = []

/** Those rows, and the ones of all those contexts; `before` null: the start writes its rows itself. */
export function withAnswerRows(
  given: readonly RowWrite[],
  contexts: ReadonlyMap<ContextId, Changed>,
  partitions: number,
): readonly RowWrite[] {
  let rows = given
  for (const context of contexts.values()) {
    const added = context.record.answerRows === undefined ? NO_ROWS : answerRowsAfter(context, partitions)
    if (added.length > 0) rows = [...rows, ...added]
  }
  return rows
}

/** The rows of a context that has got its first answer. They have no guard, since the version of the context is one. */
export function answerRowsAfter({ before, record, flux }: Changed, partitions: number): readonly RowWrite[] {
  const { id, startedAt: at, updatedAt: now, answerRows = [] } = record
  if (answerRows.length === 0 || before === null || hasAnswer(before) || !hasAnswer(record)) return NO_ROWS
  const answer = answerOf(record, flux)
  if (answer === null) return NO_ROWS
  return answerRows.flatMap(({ key, hash, keepMs }) => {
    const expiresAt = at + keepMs
    if (now >= expiresAt - Math.min(LEAVE.ms, keepMs * LEAVE.part)) return []
    const value = JSON.stringify({ hash, at, answer })
    return [{ partition: id % partitions, space: 'idempotency' as const, key, value, expiresAt }]
  })
}
