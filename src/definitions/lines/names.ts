// definitions: the names that are visible in each part of a service, and the names that it can write to.
import type { Place, Target } from './line.ts'
import type { Shape } from '../values/properties.ts'
import type { Visible } from './visible.ts'

/** Names that are visible everywhere. One without a value is undefined. */
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
 * Names that are visible to the action, the waits and the lines of a state. Lines also see the names that lines before
 * them wrote. null: any name may be visible.
 */
export function visibleIn(state: Data, service: Data & { readonly extra: boolean }): Visible {
  return service.extra ? null : seenIn([state.output, state.input, service.output, service.input])
}

/** Names of the properties of those shapes, and the special names. */
export function seenIn(shapes: readonly Shape[]): NonNullable<Visible> {
  const sees = (name: string) => SPECIAL_NAMES.has(name) || shapes.some(({ properties }) => properties.has(name))
  const names = () => [...shapes.flatMap(({ properties }) => [...properties.keys()]), ...SPECIAL_NAMES]
  const declared = (name: string) => shapes.flatMap(({ properties }) => properties.get(name) ?? [])
  return Object.assign(sees, { names, declared })
}

/**
 * Resolves the targets of a map or of an action's outputs: the output of that name of the state, else of the service.
 */
export function outputsOf(state: Data, service: Data): (name: string) => Target | null {
  return (name) =>
    find('stateOutput', state.output, name) ??
    find('serviceOutput', service.output, name) ??
    (name === '$fluxEvent' ? { place: 'fluxEvent', property: null } : null) ??
    (name === '$response' ? { place: 'response', property: null } : null)
}

/**
 * Resolves the targets of a transition's lines, which write only to the inputs of its target state. An unknown target
 * state is already reported.
 */
export function inputsOf(target: Data | undefined): (name: string) => Target | null {
  return (name) =>
    target === undefined ? { place: 'stateInput', property: null } : find('stateInput', target.input, name)
}

/** Resolves the targets of a call's inputs: any name becomes an argument. */
export const ARGUMENTS = (): Target => ({ place: 'args', property: null })

function find(place: Place, shape: Shape, name: string): Target | null {
  const property = shape.properties.get(name)
  return property === undefined ? null : { place, property }
}
