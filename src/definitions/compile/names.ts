// definitions: which names a place of a service sees, and which it can write to.
import type { Place, Target } from './line.ts'
import type { Shape } from '../values/properties.ts'
import type { Visible } from '../lint/visible.ts'

/** Seen everywhere; what has no value at some place is undefined there. */
export const SPECIAL_NAMES: ReadonlySet<string> = new Set([
  '$fluxContextId',
  '$fluxName',
  '$fluxStateName',
  '$fluxEvent',
  '$fluxException',
  '$triggerFluxEvent',
  '$trackerId',
  '$request',
  '$response',
])

interface Data {
  readonly input: Shape
  readonly output: Shape
}

/**
 * What is seen by the actions, waits and, besides their target's inputs, the lines of a state. null: anything may be
 * there.
 */
export function visibleIn(state: Data, service: Data & { readonly extra: boolean }): Visible {
  return service.extra ? null : seenIn([state.output, state.input, service.output, service.input])
}

/** What is seen of those shapes. */
export function seenIn(shapes: readonly Shape[]): NonNullable<Visible> {
  const sees = (name: string) => SPECIAL_NAMES.has(name) || shapes.some(({ properties }) => properties.has(name))
  const names = () => [...shapes.flatMap(({ properties }) => [...properties.keys()]), ...SPECIAL_NAMES]
  return Object.assign(sees, { names })
}

/** Where a map, or the outputs of an action, write: the nearest output of that name. */
export function outputsOf(state: Data, service: Data): (name: string) => Target | null {
  return (name) =>
    find('stateOutput', state.output, name) ??
    find('serviceOutput', service.output, name) ??
    (name === '$fluxEvent' ? { place: 'fluxEvent', property: null } : null) ??
    (name === '$response' ? { place: 'response', property: null } : null)
}

/** Where a transition's lines write: the inputs of its target only. An unknown target has been reported already. */
export function inputsOf(target: Data | undefined): (name: string) => Target | null {
  return (name) =>
    target === undefined ? { place: 'stateInput', property: null } : find('stateInput', target.input, name)
}

/** The arguments of a call are whatever its lines set. */
export const ARGUMENTS = (): Target => ({ place: 'args', property: null })

function find(place: Place, shape: Shape, name: string): Target | null {
  const property = shape.properties.get(name)
  return property === undefined ? null : { place, property }
}
