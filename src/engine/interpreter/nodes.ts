// engine/interpreter: the phases in which a context can rest in a state, and the names of the machine's nodes. These are
// the names of the service's states, escaped so that none has a meaning to XState.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { isObject } from '../../model/json/value.ts'
import type { Phase } from '../../model/context.ts'

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

function escaped(character: string) {
  // A lone surrogate cannot be encoded in UTF-8.
  if (!character.isWellFormed()) return `%u${hex(character.charCodeAt(0))}`
  return [...Buffer.from(character)].map((byte) => `%${hex(byte)}`).join('')
}

const hex = (number: number) => number.toString(16).toUpperCase().padStart(2, '0')

/**
 * The phases by the names of their nodes. A machine begins and ends in nodes beside those of the states, none of which
 * has such a name, because `$` is escaped.
 */
const PHASES: { readonly [node: string]: Phase } = {
  $begin: 'begin',
  $completed: 'completed',
  $failed: 'failed',
  $terminated: 'terminated',
  waiting: 'waiting',
  acting: 'acting',
  backoff: 'backoff',
  delayed: 'delayed',
}

/** @throws Error when it is no node in which a context can rest */
export function phaseOf(node: unknown): Phase {
  const phase = PHASES[String(node)]
  if (!phase) throw new Error(`a machine rests in '${String(node)}'`)
  return phase
}

/** Whether the node of the phase is inside that of a state. */
const isInside = (phase: Phase) => Object.hasOwn(PHASES, phase)

/** By which XState finds the node of that phase of that state. */
export const nodeId = (phase: Phase, state: number): string => (isInside(phase) ? `#s${state}.${phase}` : `#${phase}`)

/** The value of the snapshot of a context in that phase of that state. */
export const valueOf = ({ states }: CompiledFlux, phase: Phase, state: number): string | { [node: string]: string } =>
  isInside(phase) ? { [nodeName(states[state]?.name ?? '')]: phase } : `$${phase}`

/** The phase and the index of the state, 0 outside all states, of a machine with that value of its snapshot. */
export function positionIn({ states }: CompiledFlux, value: unknown) {
  const [node, name] = isObject(value) ? (Object.entries(value)[0] ?? []) : [undefined, value]
  return {
    phase: phaseOf(name),
    state: Math.max(
      0,
      states.findIndex((state) => nodeName(state.name) === node),
    ),
  }
}

/** Whether the state's action has no effect outside the turn: it ends in the turn. */
export const isMap = ({ action }: CompiledState): boolean => action.effect === null
export const retries = ({ action }: CompiledState): boolean => action.retry.maxAttempts > 1
export const delays = ({ transitions }: CompiledState): boolean => transitions.some(({ wait }) => wait)

/**
 * Whether the state takes an event of that name while it waits. `$else` takes no event of an internal transition, which
 * would then be chosen by its sender.
 */
export const takes = ({ choice: { events, internal, otherwise } }: CompiledState, event: string): boolean =>
  events.has(event) || (otherwise !== null && !internal.has(event))

/**
 * Whether a context can rest in that phase of that state. A state with a fault has all phases, because its contexts may
 * be in any of them.
 */
export function hasPhase({ states }: CompiledFlux, phase: Phase, index: number): boolean {
  const state = states[index]
  if (!state) return false
  const present: { readonly [phase in Phase]?: boolean } = {
    waiting: state.waiting,
    acting: !isMap(state),
    backoff: retries(state),
    delayed: delays(state),
  }
  return state.fault !== null || (present[phase] ?? true)
}
