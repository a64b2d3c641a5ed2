// engine/waits: what a caller waits for in a context, and whether it has come.
import type { Status } from '../../model/context.ts'
import type { ContextRecord, Move } from '../../model/record.ts'

/** Any of these is enough. */
export interface Condition {
  readonly statuses: readonly Status[]
  /** Indices in the definition that the context was started with. */
  readonly states: readonly number[]
  readonly tags: readonly string[]
  /** It has paused, if it has not ended: whoever called its webhook has an answer. */
  readonly answered?: true
}

export const ANSWERED: Condition = { statuses: [], states: [], tags: [], answered: true }

type Standing = Pick<ContextRecord, 'status' | 'state' | 'paused'>

export const standsSo = (condition: Condition, record: Standing & Pick<ContextRecord, 'tags'>): boolean =>
  standsIn(condition, record) || condition.tags.some((tag) => record.tags.includes(tag))

/** Whether it has that status, is in that state, or has an answer. */
export const standsIn = ({ statuses, states, answered }: Condition, { status, state, paused }: Standing): boolean =>
  statuses.includes(status) ||
  states.includes(state) ||
  (answered === true && (paused !== undefined || status !== 'RUNNING'))

/** Whether one of the last `count` moves entered a state that is waited for. */
export function hasEntered({ states }: Condition, moves: readonly Move[], count: number): boolean {
  if (states.length === 0) return false
  for (let at = Math.max(0, moves.length - count); at < moves.length; at += 1) {
    const move = moves[at]
    if (move && states.includes(move.to)) return true
  }
  return false
}

/** What waits for tags: a commit looks at those of its tags alone, however many wait. */
export class ByTag<T> {
  readonly #waiting = new Map<string, Set<T>>()

  add(one: T, tags: readonly string[]): void {
    for (const tag of tags) this.#waiting.set(tag, (this.#waiting.get(tag) ?? new Set()).add(one))
  }

  delete(one: T, tags: readonly string[]): void {
    for (const tag of tags) {
      const waiting = this.#waiting.get(tag)
      if (waiting?.delete(one) && waiting.size === 0) this.#waiting.delete(tag)
    }
  }

  /** Those that wait for one of these. */
  having(tags: readonly string[]): ReadonlySet<T> {
    const found = new Set<T>()
    if (this.#waiting.size > 0) for (const tag of tags) for (const one of this.#waiting.get(tag) ?? []) found.add(one)
    return found
  }
}
