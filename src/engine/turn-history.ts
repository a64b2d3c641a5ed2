// engine: the newest moves of a context, with those of the turn, for the trace of an exception.
import type { CompiledFlux } from '../definitions/flux.ts'
import { MAX_LOG_ROWS, type Move } from '../model/record.ts'
import { Lacking, type KnownContexts } from './known-contexts.ts'
import type { TrackedContext } from './tracked-context.ts'

/** `flux`: the definition by which the moves are to be read, which a retry may replace. @throws Lacking */
export function historyOf(
  { before, history, flux: present }: Pick<TrackedContext, 'before' | 'history' | 'flux'>,
  flux: CompiledFlux,
  atHand: Pick<KnownContexts, 'history'>,
): readonly Move[] {
  if (!before) return history.slice(-MAX_LOG_ROWS)
  const earlier = before.moves === before.tail.length ? before.tail : atHand.history(before.id)
  if (!earlier) throw new Lacking({ kind: 'history', id: before.id })
  const indexOf = (index: number): number => flux.stateIndex.get(present.states[index]?.name ?? '') ?? -1
  const read = flux === present ? earlier : earlier.map((move) => ({ ...move, to: indexOf(move.to) }))
  return [...read, ...history].slice(-MAX_LOG_ROWS)
}
