// engine/interpreter: the phases in which a context can rest in a state.
import type { CompiledFlux, CompiledState, Retry } from '../../definitions/flux.ts'
import type { Phase } from '../../model/record.ts'

/** Whether the state's action has no effect outside the turn: it ends in the turn. */
export const isMap = ({ action }: CompiledState): boolean => action.effect === null
export const delays = ({ transitions }: CompiledState): boolean => transitions.some(({ wait }) => wait)

/**
 * Whether the state takes an event of that name while it waits. `$else` takes no event of an internal transition, which
 * would then be chosen by its sender.
 */
export const takes = ({ choice: { events, internal, otherwise } }: CompiledState, event: string): boolean =>
  events.has(event) || (otherwise !== null && !internal.has(event))

/** Whether a context never rests in the state, because nothing in it takes time. */
export const passes = (state: CompiledState): boolean =>
  isMap(state) && !state.waiting && !delays(state) && state.fault === null

/** The retry policy; null: there is only one attempt. */
export const retryOf = ({ action: { retry } }: CompiledState): Retry | null => (retry.maxAttempts > 1 ? retry : null)

/**
 * Whether a context can rest in that phase of that state. A state with a fault has all phases, because its contexts may
 * be in any of them.
 */
export function hasPlace({ states }: CompiledFlux, phase: Phase, index: number): boolean {
  const state = states[index]
  if (!state) return false
  if (state.fault !== null) return true
  switch (phase) {
    case 'waiting':
      return state.waiting
    case 'acting':
      return !isMap(state)
    case 'backoff':
      return retryOf(state) !== null
    case 'delayed':
      return delays(state)
    default:
      return true
  }
}
