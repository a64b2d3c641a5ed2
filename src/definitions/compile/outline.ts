// definitions: the outlines of states, which come before the states themselves, since a transition's lines are coerced to
// the inputs of its target.
import type { Report } from '../report.ts'
import type { StateSource } from '../source/schema.ts'
import type { Shape } from '../values/properties.ts'

/** The service around the states that are compiled. */
export interface Service {
  readonly input: Shape
  readonly output: Shape
  /** Whether undeclared inputs are allowed. */
  readonly extra: boolean
  /** By name. */
  readonly states: ReadonlyMap<string, StateOutline>
  readonly report: Report
}

export interface StateOutline extends Pick<StateSource, 'name' | 'waiting' | 'action' | 'transitions'> {
  readonly index: number
  readonly pointer: string
  readonly input: Shape
  readonly output: Shape
}

const UNREADABLE = { waiting: false, action: null, transitions: [], input: [], output: [] }

/**
 * Creates one outline for each entry of the list, even an invalid one, since contexts refer to states by index. Names are
 * unique, since the machine's nodes have them.
 */
export function outlineStates(
  list: readonly (StateSource | undefined)[],
  shape: (list: StateSource['input'], pointer: string) => Shape,
  report: Report,
): StateOutline[] {
  const names = new Set<string>()
  return list.map((source, index) => {
    const pointer = `/states/${index}`
    const { input, output, ...state } = { name: placeholderOf(index), ...(source ?? UNREADABLE) }
    const name = unused(state.name, names)
    if (name !== state.name) report.fault(`${pointer}/name`, `two states are named "${state.name}"`)
    return {
      ...state,
      name,
      index,
      pointer,
      input: shape(input, `${pointer}/input`),
      output: shape(output, `${pointer}/output`),
    }
  })
}

/** Name of a state whose name is not known. */
export const placeholderOf = (index: number): string => `#${index}`

/** Returns the name, with underscores appended until no other state has it, and adds it to `names`. */
export function unused(name: string, names: Set<string>): string {
  let free = name
  while (names.has(free)) free += '_'
  names.add(free)
  return free
}
