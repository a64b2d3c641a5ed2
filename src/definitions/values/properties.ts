// definitions: what other modules use of declared properties: defaults, validation of input, coercion of what lines
// write, and what is declared at a path.
import type { ModelDescriptor } from '../../model/context.ts'
import type { FieldError } from '../../model/failure.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { PropertyReader, type ShapeRules } from './reader.ts'
import { DefinitionError } from '../definition-error.ts'
import { ok, err, type Result, type Err } from './coerced.ts'
import { elementOf, type Property, type Shape } from './property.ts'
import { isIndex } from './paths.ts'
import { TooMuchWork, WorkBudget } from '../work-budget.ts'

export type { Property, Shape } from './property.ts'
export { compileShape } from './shapes.ts'

/**
 * The values of the properties that have a default; `now` in epoch milliseconds. The work is counted, and done in any
 * case: it is as much as the definition asks for.
 * @throws DefinitionError when one can't be read any more
 */
export function defaults(shape: Shape, now: number, budget = new WorkBudget()): JsonObject {
  const result: JsonObject = {}
  const own = new WorkBudget(Infinity)
  for (const [name, property] of shape.properties) {
    const reader = new PropertyReader(now, '', own)
    const value = reader.defaultOf(property)
    const [error] = reader.errors
    if (error !== undefined) {
      const place = error.pointer === '' ? '' : ` at ${error.pointer}`
      throw new DefinitionError(`the default of "${name}"${place} ${error.detail}`)
    }
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
  /** Where the values lie in the request, `/input`. */
  readonly pointer: string
}

export interface Validated {
  /** What is valid; to be used only without errors. Absent optional values stay absent. */
  readonly value: JsonObject
  readonly errors: readonly FieldError[]
}

/**
 * Holds values from outside to a shape. Parts without declared fields are shared with what was given, never copied or
 * changed.
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
    if (error instanceof DefinitionError) {
      return { value: {}, errors: [{ pointer, detail: `can't be read: ${error.message}` }] }
    }
    if (!(error instanceof TooMuchWork)) throw error
    return {
      value: {},
      errors: [{ pointer, detail: 'makes too much work: it has too many values for the properties declared' }],
    }
  }
}

/**
 * How a line's value is held to its target: text is coerced, a number or boolean becomes text for a string, anything
 * else must fit.
 * @throws TooMuchWork; DefinitionError where values can't be held to it any more
 */
export function coerce(property: Property, value: Json, now: number, budget = new WorkBudget()): Result {
  const reader = new PropertyReader(now, '', budget)
  const held = reader.value(property, value, 'line')
  const [error, ...more] = reader.errors
  if (error === undefined) return ok(held ?? null)
  return err(
    `${error.pointer === '' ? '' : `${error.pointer} `}${error.detail}${more.length > 0 ? ` (and ${more.length} more)` : ''}`,
  )
}

type Descent =
  | {
      readonly ok: true
      /** null: nothing is declared there, and anything may be written. */
      readonly property: Property | null
      /** Positions in the path at which a declared list takes an index. */
      readonly lists: ReadonlySet<number>
    }
  | Err

/** What is declared at the end of a path below a property. */
export function descend(property: Property, path: readonly string[]): Descent {
  const lists = new Set<number>()
  let at = property
  for (const [position, segment] of path.entries()) {
    if (at.array) {
      if (!isIndex(segment)) return err(`"${at.name}" is a list: "${segment}" is no index into it`)
      lists.add(position)
      at = elementOf(at)
      continue
    }
    if (at.type !== 'model' && at.type !== 'object' && at.type !== 'any')
      return err(`"${at.name}" is a ${at.type}: it has no "${segment}"`)
    const fields = at.fields()
    const next = fields?.properties.get(segment)
    if (fields !== null && next === undefined && !fields.extra) return err(`"${at.name}" has no property "${segment}"`)
    if (next === undefined) return { ok: true, property: null, lists }
    at = next
  }
  return { ok: true, property: at, lists }
}

/**
 * With the new keys first: after the spread each would cost the object a hidden class of its own. The value stands,
 * whatever the declaration says.
 */
function withValue({ source, type }: Property, value: Json): JsonObject {
  const shown = { name: source['name'] ?? null, type, value, ...source }
  if (shown.value !== value) shown.value = value
  return shown
}

/** How a view shows values: each declaration as its file has it, with `value`; then what isn't declared. */
export function describeValues(name: string, shape: Shape, values: JsonObject): ModelDescriptor {
  const declared = [...shape.properties].map(([key, property]) => withValue(property, getOwn(values, key) ?? null))
  const others = Object.keys(values)
    .filter((key) => !shape.properties.has(key))
    .map((key) => ({ name: key, type: 'any', value: getOwn(values, key) ?? null }))
  return { name, type: 'model', allowExtraProperties: shape.extra, gloopProperties: [...declared, ...others] }
}
