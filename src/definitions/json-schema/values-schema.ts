// definitions: JSON Schemas (2020-12) of the inputs of a start and of an event, and of outputs. A schema of inputs accepts
// what `validate` accepts as JSON, and nothing else; dates, and large numbers as text, only roughly.
import { canonical, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux, CompiledState } from '../flux.ts'
import { elementOf, type Property, type Shape } from '../values/property.ts'
import { PropertyReader } from '../values/reader.ts'
import { TooMuchWork } from '../work-budget.ts'
import { choicesOf, scalarSchema } from './scalar-schema.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** The schema of the inputs with which the service is started. */
export function startSchema({ input }: Pick<CompiledFlux, 'input'>): JsonObject {
  const builder = schemaBuilder(false)
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
  const builder = schemaBuilder(false)
  return builder.whole(builder.object({ ...input, extra: true }, false))
}

/** The schema of the values of all outputs, by name: those that were never set are null. */
export function outputSchema({ output, states }: Pick<CompiledFlux, 'output' | 'states'>): JsonObject {
  const answers = states.flatMap(({ action }) => action.outputs.filter((line) => line.answers))
  // An output that has `$response` is anything, whatever is declared.
  const open = new Set(answers.map(({ path: [name] }) => name))
  const builder = schemaBuilder(true)
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

/**
 * Makes schemas that share those of models. `isHeld`: of stored values. Lines may have written parts of these, so any part
 * may be missing or null; and a default may break the rules.
 */
function schemaBuilder(isHeld: boolean) {
  const names = new Map<Shape, string>()
  const models: { [name: string]: JsonObject } = {}

  /** `fill`: absent properties get their defaults. */
  function object({ properties, extra }: Shape, fill: boolean): JsonObject {
    const all = [...properties.values()]
    const schemas = all.map((property): [string, JsonObject] => [
      property.name,
      declared(isHeld ? { ...property, ...NO_RULES } : property, fill),
    ])
    const required = all.filter((property) => !isHeld && isNeeded(property, fill)).map(({ name }) => name)
    return objectSchema(schemas, required, extra)
  }

  function declared(given: Property, fill: boolean): JsonObject {
    const { comments } = given.source
    const value = fill ? defaultAt(given, 0) : undefined
    // A default that depends on the time is left out.
    const isTold = value !== undefined && canonical(value) === canonical(defaultAt(given, 1) ?? null)
    const property = isHeld ? { ...given, ...(given.defaultValue !== undefined && NO_RULES), allowNull: true } : given
    return {
      ...(typeof comments === 'string' && comments !== '' && { description: comments }),
      ...valuesOf(property, isHeld, referenceTo),
      ...(isTold && { default: value }),
    }
  }

  /** A reference to the schema of a model, which is named by the property that is first found to have it. */
  function referenceTo(fields: Shape, { name, source: { reference } }: Property): string {
    const known = names.get(fields)
    if (known !== undefined) return `#/$defs/${known}`
    const own = unusedName(typeof reference === 'string' && reference !== '' ? reference : name, models)
    // The model is named before its fields are described, since it may contain itself.
    names.set(fields, own)
    models[own] = {}
    models[own] = object(fields, true)
    return `#/$defs/${own}`
  }

  const whole = (schema: JsonObject): JsonObject => ({
    $schema: DIALECT,
    ...schema,
    ...(names.size > 0 && { $defs: models }),
  })

  return { object, declared, whole }
}

/** The schema of a property's values. `referenceTo`: a reference to the schema of its fields. */
function valuesOf(
  property: Property,
  isHeld: boolean,
  referenceTo: (fields: Shape, of: Property) => string,
): JsonObject {
  if (property.array) {
    const list = { type: 'array', items: valuesOf(elementOf(property), isHeld, referenceTo) }
    return property.allowNull ? nullable(list) : list
  }
  const { type } = property
  const choices = isHeld ? {} : choicesOf(property)
  if (type === 'any' && !property.allowNull) return { not: { type: 'null' }, ...choices }
  if (type === 'any') return nullable(choices)
  const fields = type === 'model' ? property.fields() : null
  const schema =
    type !== 'model' && type !== 'object'
      ? scalarSchema(type, property, isHeld)
      : { ...(fields === null ? { type: 'object' } : { $ref: referenceTo(fields, property) }), ...choices }
  return property.allowNull ? nullable(schema) : schema
}

/** Characters that need an escape in a reference. */
const UNSAFE = /[^\w.-]/g
const MAX_NAME_CHARACTERS = 100

function unusedName(wanted: string, taken: JsonObject) {
  const base = wanted.slice(0, MAX_NAME_CHARACTERS).replaceAll(UNSAFE, '_')
  let name = base
  for (let count = 2; name in taken; count += 1) name = `${base}-${count}`
  return name
}

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
const isNeeded = (property: Property, fill: boolean) =>
  fill && property.defaultValue !== undefined ? defaultAt(property, 0) === undefined : property.required

/** What fills the property where it is absent, at a time; undefined: it has no default, or one that can't be read. */
function defaultAt(property: Property, now: number) {
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
