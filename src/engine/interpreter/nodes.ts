// engine/interpreter: the phases in which a context can rest in a state, and the names of the machine's nodes. These are
// the names of the service's states, escaped so that none has a meaning to XState.
import type { CompiledFlux, CompiledState, Retry } from '../../definitions/flux.ts'
import type { Phase } from '../../model/record.ts'

/**
 * Letters, digits, space, `_` and `-` are not escaped. All other characters, such as `.` and `#`, are percent-encoded.
 */
const OTHERS = /[^\p{L}\p{Nd} _-]/gu

/** The name of the node for a state. */
export function nodeName(state: string): string {
  // As a key of a plain object, this name would set the prototype.
  if (state === '__proto__') return '%5F_proto__'
  return state.replace(OTHERS, escaped)
}

function escaped(character: string): string {
  // A lone surrogate cannot be encoded in UTF-8.
  if (!character.isWellFormed()) return `%u${hex(character.charCodeAt(0))}`
  return [...Buffer.from(character)].map((byte) => `%${hex(byte)}`).join('')
}

const hex = (number: number): string => number.toString(16).toUpperCase().padStart(2, '0')

/** The node in which a machine begins or ends. No state has a node of that name, because `$` is escaped. */
export const endNode = (phase: 'begin' | 'completed' | 'failed' | 'terminated'): string => `$${phase}`

const PHASES: ReadonlyMap<string, Phase> = new Map([
  ...(['begin', 'completed', 'failed', 'terminated'] as const).map((phase) => [endNode(phase), phase] as const),
  ...(['waiting', 'acting', 'backoff', 'delayed'] as const).map((phase) => [phase, phase] as const),
])

/** The phase of a machine from the value of its snapshot. */
export function phaseOf(value: unknown): Phase {
  const name = typeof value === 'object' && value !== null ? Object.values(value)[0] : value
  const phase = PHASES.get(String(name))
  if (!phase) throw new Error(`a machine rests in '${String(name)}'`)
  return phase
}

/** The value of the snapshot of a context in that phase of that state. */
export function valueOf({ states }: CompiledFlux, phase: Phase, state: number): string | { [node: string]: string } {
  switch (phase) {
    case 'begin':
    case 'completed':
    case 'failed':
    case 'terminated':
      return endNode(phase)
    default:
      return { [nodeName(states[state]?.name ?? '')]: phase }
  }
}

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
export function hasPhase({ states }: CompiledFlux, phase: Phase, index: number): boolean {
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
