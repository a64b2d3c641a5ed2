// inspector/pages: the moves of a context, as its view has them: states by time, each with the event that led there.
import type { ContextView } from '../../../api/get-context.ts'
import { hasEnded } from '../../parts/status.tsx'

export interface Stay {
  readonly state: string
  /** The state before; null: it is the first that is known. */
  readonly from: string | null
  /** What led there; null: it came by itself, or began there. */
  readonly event: string | null
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds up to the next move, or to now. */
  readonly lasted: number
  readonly isCurrent: boolean
}

export function staysOf(context: ContextView, now: number): readonly Stay[] {
  const { executionHistory: history, stateContexts, endedAt, status } = context
  const taken = new Map<string, (string | null)[]>()
  for (const { name, transitionContexts } of stateContexts)
    for (const { event, to, takenAt } of transitionContexts) {
      const key = JSON.stringify([name, to, takenAt])
      taken.set(key, [...(taken.get(key) ?? []), event])
    }
  const end = hasEnded(status) ? (endedAt ?? context.updatedAt) : now
  return history.map(({ stateName: state, enteredAt: at, event: told }, index) => {
    const from = history[index - 1]?.stateName ?? null
    const next = history[index + 1]
    const event = told ?? (from === null ? null : (taken.get(JSON.stringify([from, state, at]))?.shift() ?? null))
    return { state, from, event, at, lasted: Math.max(0, (next?.enteredAt ?? end) - at), isCurrent: next === undefined }
  })
}
