// engine: the newest moves of a context, with those of the turn, for the trace of an exception.
import { MAX_LOG_ROWS, type Move } from '../model/record.ts'
import { Lacking, type KnownContexts } from './known-contexts.ts'
import type { TrackedContext } from './tracked-context.ts'

/** @throws Lacking */
export function historyOf(
  { before, history }: Pick<TrackedContext, 'before' | 'history'>,
  atHand: Pick<KnownContexts, 'history'>,
): readonly Move[] {
  if (!before) return history.slice(-MAX_LOG_ROWS)
  const earlier = before.moves === before.tail.length ? before.tail : atHand.history(before.id)
  if (!earlier) throw new Lacking({ kind: 'history', id: before.id })
  return [...earlier, ...history].slice(-MAX_LOG_ROWS)
}
