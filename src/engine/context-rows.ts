// engine: the rows that contexts have beside their records: early events, webhooks that they owe, and first answers.
import type { ContextId } from '../model/context.ts'
import type { RowWrite } from '../model/rows.ts'
import { endRowsOf } from './on-end/end-event.ts'
import { pendingRowsOf } from './pending-rows.ts'
import type { TrackedContext } from './tracked-context.ts'
import { withAnswerRows } from './webhooks/answer-rows.ts'

type RowsEnv = Parameters<typeof pendingRowsOf>[1] & Parameters<typeof endRowsOf>[1]

/** The rows that the changes of those contexts need, in the same commit. */
export function contextRowsOf(contexts: ReadonlyMap<ContextId, TrackedContext>, env: RowsEnv): readonly RowWrite[] {
  const [pending, owed] = [pendingRowsOf(contexts, env), endRowsOf(contexts, env)]
  return withAnswerRows(owed.length === 0 ? pending : [...pending, ...owed], contexts, env.partitions)
}
