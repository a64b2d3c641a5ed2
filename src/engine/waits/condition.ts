// engine: what a caller waits for in a context, and whether it has come.
import type { Status } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'

/** Any of these is enough. */
export interface Condition {
  readonly statuses: readonly Status[]
  /** Indices in the definition that the context was started with. */
  readonly states: readonly number[]
  readonly tags: readonly string[]
}

export const standsSo = (
  { statuses, states, tags }: Condition,
  { status, state, tags: own }: Pick<ContextRecord, 'status' | 'state' | 'tags'>,
): boolean => statuses.includes(status) || states.includes(state) || tags.some((tag) => own.includes(tag))

/** Whether one of the last `count` moves entered a state that is waited for. */
export function hasEntered({ states }: Condition, moves: readonly Move[], count: number): boolean {
  if (states.length === 0) return false
  for (let at = Math.max(0, moves.length - count); at < moves.length; at += 1) {
    const move = moves[at]
    if (move && states.includes(move.to)) return true
  }
  return false
}
