// definitions: the public functions for declared properties: defaults, validation of requests, coercion of the values
// of lines, what is declared at a path, and descriptions for views.
import type { ModelDescriptor } from '../../model/context.ts'
import type { FieldError } from '../../model/failure.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { PropertyReader, type ShapeRules } from './reader.ts'
import { DefinitionError } from '../definition-error.ts'
import { elementOf, type Property, type Shape } from './property.ts'
import { isIndex } from './paths.ts'
import { TooMuchWork, WorkBudget } from '../work-budget.ts'

export type { Property, Shape } from './property.ts'

/**
 * Returns the values of the properties that have a default. `now` is in epoch milliseconds. The work is added to the
 * budget but never refused, since the definition determines it.
 * @throws DefinitionError when a default can't be read any more
 */
export function defaults(shape: Shape, now: number, budget = new WorkBudget()): JsonObject {
  const result: JsonObject = {}
  const own = new WorkBudget(Infinity)
  for (const [name, property] of shape.properties) {
    const reader = new PropertyReader(now, '', own)
    const value = reader.defaultOf(property)
    const [error] = reader.errors
    if (error !== undefined) throw new DefinitionError(`the default of "${name}${error.pointer}" ${error.detail}`)
    if (value !== undefined) setOwn(result, name, value)
  }
  budget.add(own.spent)
  return result
}

export interface ValidateOptions extends ShapeRules {
  /** Epoch milliseconds. */
  readonly now: number
  /** The values come from a query, path, header or untyped XML: text is coerced to the declared type. */
  readonly text: boolean
  /** JSON pointer of the values in the request: `/input`. */
  readonly pointer: string
}

export interface Validated {
  /** The valid values, to be used only if there are no errors. Absent optional values stay absent. */
  readonly value: JsonObject
  readonly errors: readonly FieldError[]
}

/**
 * Validates values of a request against a shape. Parts without declared fields are shared with the given object, and
 * are neither copied nor changed.
 */
export function validate(
  shape: Shape,
  given: JsonObject,
  { now, text, pointer, ...rules }: ValidateOptions,
): Validated {
  const reader = new PropertyReader(now, pointer, new WorkBudget())
  try {
    const value = reader.shape(shape, given, text ? 'text' : 'json', rules)
    return { value, errors: reader.errors }
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    return {
      value: {},
      errors: [{ pointer, detail: 'makes too much work: it has too many values for the properties declared' }],
    }
  }
}

/**
 * Coerces the value of a line to the type of its target: text is coerced, a number or boolean becomes text for a
 * string, anything else must have the type already.
 * @throws TooMuchWork
 */
export function coerce(property: Property, value: Json, now: number, budget = new WorkBudget()) {
  const reader = new PropertyReader(now, '', budget)
  const coerced = reader.value(property, value, 'line')
  const [error, ...more] = reader.errors
  if (error === undefined) return { ok: true, value: coerced ?? null } as const
  const reason = `${error.pointer} ${error.detail}${more.length > 0 ? ` (and ${more.length} more)` : ''}`
  return err(reason.trimStart())
}

const err = (reason: string) => ({ ok: false, reason }) as const

/**
 * Finds what is declared at the end of a path below a property; null: nothing is declared there, so any value may be
 * written. `lists`: positions in the path that are indices of declared lists.
 */
export function descend(property: Property | null, path: readonly string[]) {
  const lists = new Set<number>()
  let current = property
  for (const [position, segment] of path.entries()) {
    if (current === null) break
    if (current.array) {
      if (!isIndex(segment)) return err(`"${current.name}" is a list: "${segment}" is no index into it`)
      lists.add(position)
      current = elementOf(current)
      continue
    }
    if (current.type !== 'model' && current.type !== 'object' && current.type !== 'any')
      return err(`"${current.name}" is a ${current.type}: it has no "${segment}"`)
    const fields = current.fields()
    const next = fields?.properties.get(segment)
    if (fields !== null && next === undefined && !fields.extra)
      return err(`"${current.name}" has no property "${segment}"`)
    current = next ?? null
  }
  return { ok: true, property: current, lists } as const
}

/**
 * The declaration with its value. The new keys come first: after the spread, each would give the object a hidden class
 * of its own. A `value` in the declaration itself is overwritten.
 */
function withValue({ source, type }: Property, value: Json) {
  const shown = { name: source['name'] ?? null, type, value, ...source }
  if (shown.value !== value) shown.value = value
  return shown
}

/**
 * Describes values for a view: each declaration as its file has it, with `value`, then the values that are not
 * declared.
 */
export function describeValues(name: string, shape: Shape, values: JsonObject): ModelDescriptor {
  const declared = [...shape.properties].map(([key, property]) => withValue(property, getOwn(values, key) ?? null))
  const others = Object.keys(values)
    .filter((key) => !shape.properties.has(key))
    .map((key) => ({ name: key, type: 'any', value: getOwn(values, key) ?? null }))
  return { name, type: 'model', allowExtraProperties: shape.extra, gloopProperties: [...declared, ...others] }
}
