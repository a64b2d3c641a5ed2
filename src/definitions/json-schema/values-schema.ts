// definitions: JSON Schemas (2020-12) of the inputs of a start and of an event, and of outputs. A schema of inputs accepts
// what `validate` accepts as JSON, and nothing else; dates, and large numbers as text, only roughly.
import { canonical, type Json, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux, CompiledState } from '../flux.ts'
import { elementOf, type Property, type Shape } from '../values/property.ts'
import { PropertyReader } from '../values/reader.ts'
import { TooMuchWork } from '../work-budget.ts'
import { choicesOf, scalarSchema } from './scalar-schema.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** The schema of the inputs with which the service is started. */
export function startSchema({ input }: Pick<CompiledFlux, 'input'>): JsonObject {
  const builder = new SchemaBuilder(false)
  const schema = builder.whole(builder.object(input, true))
  if (!input.extra) return schema
  // Names that begin with `$` are refused unless they are declared.
  const declared = [...input.properties.keys()].filter((name) => name.startsWith('$'))
  return {
    ...schema,
    propertyNames: { anyOf: [{ pattern: /^(?!\$)/.source }, ...declared.map((name) => ({ const: name }))] },
  }
}

/** The schema of the inputs of the events that the state takes: it is the same for each. Undeclared names are ignored. */
export function eventSchema({ input }: Pick<CompiledState, 'input'>): JsonObject {
  const builder = new SchemaBuilder(false)
  return builder.whole(builder.object({ ...input, extra: true }, false))
}

/** The schema of the values of all outputs, by name: those that were never set are null. */
export function outputSchema({ output, states }: Pick<CompiledFlux, 'output' | 'states'>): JsonObject {
  const answers = states.flatMap(({ action }) => action.outputs.filter((line) => line.answers))
  // Those that hold `$response` are anything, whatever is declared.
  const open = new Set(answers.map(({ path: [name] }) => name))
  const builder = new SchemaBuilder(true)
  const schemas = [...output.properties].map(([name, property]): [string, JsonObject] => [
    name,
    open.has(name) ? {} : builder.declared(property, true),
  ])
  return builder.whole(objectSchema(schemas, [...output.properties.keys()], false))
}

const objectSchema = (schemas: [string, JsonObject][], required: string[], extra: boolean): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(schemas),
  ...(required.length > 0 && { required }),
  ...(!extra && { additionalProperties: false }),
})

class SchemaBuilder {
  readonly #isHeld: boolean
  readonly #names = new Map<Shape, string>()
  readonly #models: { [name: string]: JsonObject } = {}

  /**
   * `isHeld`: of values as they are stored, of which lines may have written parts, so that any part may be missing or
   * null, and of which a default may break the rules.
   */
  constructor(isHeld: boolean) {
    this.#isHeld = isHeld
  }

  whole(schema: JsonObject): JsonObject {
    return { $schema: DIALECT, ...schema, ...(this.#names.size > 0 && { $defs: this.#models }) }
  }

  /** `fill`: absent properties get their defaults. */
  object({ properties, extra }: Shape, fill: boolean): JsonObject {
    const all = [...properties.values()]
    const schemas = all.map((property): [string, JsonObject] => [
      property.name,
      this.declared(this.#isHeld ? { ...property, ...NO_RULES } : property, fill),
    ])
    const required = this.#isHeld ? [] : all.filter((property) => isNeeded(property, fill))
    return objectSchema(
      schemas,
      required.map(({ name }) => name),
      extra,
    )
  }

  declared(given: Property, fill: boolean): JsonObject {
    const { comments } = given.source
    const value = fill ? defaultAt(given, 0) : undefined
    // One that is another at another time is not told.
    const isTold = value !== undefined && canonical(value) === canonical(defaultAt(given, 1) ?? null)
    const property = this.#isHeld
      ? { ...given, ...(given.defaultValue !== undefined && NO_RULES), allowNull: true }
      : given
    return {
      ...(typeof comments === 'string' && comments !== '' && { description: comments }),
      ...this.#list(property),
      ...(isTold && { default: value }),
    }
  }

  #list(property: Property): JsonObject {
    if (!property.array) return this.#single(property)
    const list = { type: 'array', items: this.#single(elementOf(property)) }
    return property.allowNull ? nullable(list) : list
  }

  #single(property: Property): JsonObject {
    const { type } = property
    const choices = this.#isHeld ? {} : choicesOf(property)
    if (type === 'any' && !property.allowNull) return { not: { type: 'null' }, ...choices }
    if (type === 'any') return nullable(choices)
    const fields = type === 'model' ? property.fields() : null
    const schema =
      type !== 'model' && type !== 'object'
        ? scalarSchema(type, property, this.#isHeld)
        : { ...(fields === null ? { type: 'object' } : { $ref: this.#model(fields, property) }), ...choices }
    return property.allowNull ? nullable(schema) : schema
  }

  /** A reference to the schema of a model, which is named by the property that is first found to have it. */
  #model(fields: Shape, { name, source: { reference } }: Property): string {
    const known = this.#names.get(fields)
    if (known !== undefined) return `#/$defs/${known}`
    const wanted = typeof reference === 'string' && reference !== '' ? reference : name
    const base = wanted.slice(0, MAX_NAME_CHARACTERS).replaceAll(UNSAFE, '_')
    let unused = base
    for (let count = 2; unused in this.#models; count += 1) unused = `${base}-${count}`
    this.#names.set(fields, unused)
    // It is named before its fields are described, since it may contain itself.
    this.#models[unused] = {}
    this.#models[unused] = this.object(fields, true)
    return `#/$defs/${unused}`
  }
}

/** Characters that need an escape in a reference. */
const UNSAFE = /[^\w.-]/g
const MAX_NAME_CHARACTERS = 100

/** The schema, or null. */
function nullable(schema: JsonObject): JsonObject {
  const { type, enum: choices, anyOf, $ref: reference } = schema
  if (reference !== undefined) return { anyOf: [schema, { type: 'null' }] }
  return {
    ...schema,
    ...(type !== undefined && { type: [type, 'null'].flat() }),
    ...(Array.isArray(anyOf) && { anyOf: [...anyOf, { type: 'null' }] }),
    ...(Array.isArray(choices) && { enum: [...choices, null] }),
  }
}

/** Whether a value is refused without the property. */
const isNeeded = (property: Property, fill: boolean): boolean =>
  fill && property.defaultValue !== undefined ? defaultAt(property, 0) === undefined : property.required

/** What fills the property where it is absent, at a time; undefined: it has no default, or one that can't be read. */
function defaultAt(property: Property, now: number): Json | undefined {
  const reader = new PropertyReader(now)
  try {
    const value = reader.defaultOf(property)
    return reader.errors.length > 0 ? undefined : value
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined
    throw error
  }
}

const NO_RULES = { min: undefined, max: undefined, minLength: undefined, maxLength: undefined, choices: undefined }
