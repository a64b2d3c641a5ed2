// definitions: the names that are visible in each part of a service, those that it can write to, and the messages about
// names that are not there.
import { messageOf } from '../../model/error-message.ts'
import { alternatives, suggestion } from '../../model/nearest.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import type { Expression } from '../expressions/expression.ts'
import { foreignHint } from '../expressions/foreign.ts'
import { isIndex } from '../values/paths.ts'
import type { Report } from '../report.ts'
import type { Property, Shape } from '../values/properties.ts'
import type { Place, Target } from './line.ts'

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

/**
 * The names that are visible, and how each is declared, as far as that is known; null: any name may be. Lines also see
 * the names that lines before them wrote.
 */
export type Visible = ReadonlyMap<string, readonly Property[]> | null

interface Data {
  readonly input: Shape
  readonly output: Shape
}

/** Names of the properties of those shapes, and the special names. */
export function seenIn(shapes: readonly Shape[]): NonNullable<Visible> {
  const seen = new Map<string, Property[]>()
  for (const { properties } of shapes)
    for (const [name, property] of properties) seen.set(name, [...(seen.get(name) ?? []), property])
  for (const name of SPECIAL_NAMES) seen.set(name, seen.get(name) ?? [])
  return seen
}

/**
 * Resolves the targets of a map or of an action's outputs: the output of that name of the state, else of the service.
 */
export const outputsOf =
  (state: Data, service: Data) =>
  (name: string): Target | null =>
    find('stateOutput', state.output, name) ??
    find('serviceOutput', service.output, name) ??
    (name === '$fluxEvent' ? { place: 'fluxEvent', property: null } : null) ??
    (name === '$response' ? { place: 'response', property: null } : null)

/**
 * Resolves the targets of a transition's lines, which write only to the inputs of its target state. An unknown target
 * state is already reported.
 */
export const inputsOf =
  (target: Data | undefined) =>
  (name: string): Target | null =>
    target === undefined ? { place: 'stateInput', property: null } : find('stateInput', target.input, name)

/** Resolves the targets of a call's inputs: any name becomes an argument. */
export const ARGUMENTS = (): Target => ({ place: 'args', property: null })

function find(place: Place, { properties }: Shape, name: string) {
  const property = properties.get(name)
  return property === undefined ? null : { place, property }
}

/** What an expression sees, and where it is in its file. */
export interface SeenAt {
  readonly visible: Visible
  /** Whether `$secrets` is visible. */
  readonly seesSecrets?: boolean
  readonly pointer: string
  readonly report: Report
}

/** Compiles an expression or a template; null if there is none, or after a fault. */
export function compileSeen(
  compile: (source: string) => Expression,
  source: string | null | undefined,
  at: SeenAt,
): Expression | null {
  const { pointer, report } = at
  if (source == null) return null
  try {
    const compiled = compile(source)
    if (compiled.quotesPlaceholder) report.warn(pointer, PLAIN_TEXT)
    for (const warning of strangePaths(compiled.paths, at.visible)) report.warn(pointer, warning)
    const fault = faultOfNames(compiled, at)
    return fault === null ? compiled : report.fault(pointer, fault)
  } catch (error) {
    return report.fault(pointer, notParsed(error, source))
  }
}

/** The warning about `"…${x}…"`. */
const PLAIN_TEXT = 'the ${…} in a text in quotes is plain text: write backticks (`…${x}…`) for what it stands for'

/** Why an expression can't use the names that it does; null: it can. */
export function faultOfNames(
  { names, source, secretFault }: Expression,
  { visible, seesSecrets }: SeenAt,
): string | null {
  const unseen = [...names].filter((name) => name !== SECRETS && visible?.has(name) === false)
  const [first] = unseen
  if (visible !== null && first !== undefined) {
    const [only, ...others] = visible.keys()
    const where = others.length > 0 ? 'not visible anywhere:' : `only ${only} is visible here, and not`
    return `${where} ${unseen.join(', ')}${suggestion(first, visible.keys())}${foreignHint(source)}`
  }
  if (!names.has(SECRETS)) return null
  return seesSecrets ? secretFault : NO_SECRETS
}

/** Warnings of paths that lead to no field of a declared model, however the name is declared. */
export function strangePaths(paths: readonly (readonly string[])[], visible: Visible): ReadonlySet<string> {
  const strange = paths.flatMap(([name = '', ...keys]) => {
    const fields = (visible?.get(name) ?? []).map((property) => strangeField(property, keys))
    return fields.includes(null) ? [] : (fields[0] ?? [])
  })
  return new Set(strange)
}

function strangeField(property: Property, [key, ...below]: readonly string[]): string | null {
  if (key === undefined || property.type !== 'model') return null
  // Lists have properties of their own.
  if (property.array) return isIndex(key) ? strangeField({ ...property, array: false }, below) : null
  const fields = property.fields()
  const field = fields?.properties.get(key)
  if (field !== undefined) return strangeField(field, below)
  if (fields === null || fields.extra) return null
  return `"${property.name}" has no field "${key}"${alternatives(key, fields.properties.keys())}`
}

export const notParsed = (error: unknown, source: string): string =>
  `can't be parsed: ${messageOf(error)}${foreignHint(source)}`

/** The fault of an expression that names `$secrets` where none is visible. */
export const NO_SECRETS =
  '$secrets is visible only in "verify" of a webhook, in "onEnd", and in the inputs of an invokeCode'

/** The fault of another use of the name. */
export const RESERVED = `${SECRETS} stands for the secrets, and for nothing else`
