// definitions: JSON Schemas (2020-12) of the inputs of a start and of an event, and of outputs. A schema of inputs accepts
// what `validate` accepts as JSON, and nothing else; dates and large numbers as text only roughly.
import type { JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux, CompiledState } from '../flux.ts'
import { elementOf, type Property, type Shape } from '../values/property.ts'
import { choiceSchema } from './choice-schema.ts'
import { filledValueOf, objectSchema } from './object-schema.ts'
import { SchemaNames } from './schema-names.ts'
import { nullable, scalarSchema } from './scalar-schema.ts'

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Names that do not begin with `$`. */
const NOT_RESERVED = /^(?!\$)/.source

/** The schemas that were made, by the shape that they describe. */
const starts = new WeakMap<Shape, JsonObject>()
const events = new WeakMap<Shape, JsonObject>()
const outputs = new WeakMap<Shape, JsonObject>()

/** The schema of the inputs with which the service is started. */
export const startSchema = ({ input }: Pick<CompiledFlux, 'input'>): JsonObject =>
  remembered(starts, input, () => new SchemaBuilder('given').start(input))

/** The schema of the inputs of the events that the state takes: it is the same for each. */
export const eventSchema = ({ input }: Pick<CompiledState, 'input'>): JsonObject =>
  remembered(events, input, () => new SchemaBuilder('given').event(input))

/** The schema of the values of all outputs, by name: those that were never set are null. */
export const outputSchema = ({ output, states }: Pick<CompiledFlux, 'output' | 'states'>): JsonObject =>
  remembered(outputs, output, () => new SchemaBuilder('held').outputs(output, answeredOutputs(states)))

function remembered(known: WeakMap<Shape, JsonObject>, shape: Shape, make: () => JsonObject): JsonObject {
  const schema = known.get(shape) ?? make()
  known.set(shape, schema)
  return schema
}

/** The outputs that hold `$response`, whatever is declared. */
const answeredOutputs = (states: readonly CompiledState[]): ReadonlySet<string> =>
  new Set(
    states.flatMap(({ action }) =>
      action.outputs.filter(({ answers }) => answers).flatMap(({ path: [name] }) => name ?? []),
    ),
  )

/**
 * Builds one schema. `given`: of values that are sent. `held`: of values as they are stored, of which lines may have
 * written parts, so that any part may be missing or null.
 */
class SchemaBuilder {
  readonly #isHeld: boolean
  readonly #names = new SchemaNames()
  readonly #models: { [name: string]: JsonObject } = {}

  constructor(use: 'given' | 'held') {
    this.#isHeld = use === 'held'
  }

  start(shape: Shape): JsonObject {
    const schema = this.#object(shape, { fill: true })
    return this.#whole(shape.extra ? withoutReserved(schema, shape) : schema)
  }

  /** Names that are not declared are ignored, and defaults play no part. */
  event(shape: Shape): JsonObject {
    const { additionalProperties: _closed, ...open } = this.#object(shape, { fill: false })
    return this.#whole(open)
  }

  outputs(shape: Shape, answered: ReadonlySet<string>): JsonObject {
    const properties = new Map(
      [...shape.properties].map(([name, property]) => [name, answered.has(name) ? {} : this.#declared(property, true)]),
    )
    return this.#whole(objectSchema(properties, { required: [...properties.keys()], extra: false }))
  }

  #whole(schema: JsonObject): JsonObject {
    const hasModels = Object.keys(this.#models).length > 0
    return { $schema: DIALECT, ...schema, ...(hasModels && { $defs: this.#models }) }
  }

  /** `fill`: absent properties get their defaults. */
  #object({ properties, extra }: Shape, { fill }: { readonly fill: boolean }): JsonObject {
    // A default of the model may break the rules of its fields.
    const shown = (property: Property) => (this.#isHeld ? withoutRules(property) : property)
    const schemas = new Map([...properties].map(([name, property]) => [name, this.#declared(shown(property), fill)]))
    const required = [...properties.values()].filter((property) => !this.#isHeld && isNeeded(property, fill))
    return objectSchema(schemas, { required: required.map(({ name }) => name), extra })
  }

  #declared(property: Property, fill: boolean): JsonObject {
    const { comments } = property.source
    const filled = fill ? filledValueOf(property) : null
    return {
      ...(typeof comments === 'string' && comments !== '' && { description: comments }),
      ...this.#list(property),
      ...(filled?.isTimed === false && { default: filled.value }),
    }
  }

  #list(given: Property): JsonObject {
    const property = this.#isHeld ? asHeld(given) : given
    if (!property.array) return this.#single(property)
    const list = { type: 'array', items: this.#single(elementOf(property)) }
    return property.allowNull ? nullable(list) : list
  }

  #single(property: Property): JsonObject {
    const schema = this.#ofType(property)
    return property.allowNull ? nullable(schema) : schema
  }

  /** Of values that are not null. */
  #ofType(property: Property): JsonObject {
    const { type } = property
    if (type !== 'any' && type !== 'object' && type !== 'model') return scalarSchema(type, property, this.#isHeld)
    const fields = type === 'model' ? property.fields() : null
    const bare =
      type === 'any' ? (property.allowNull ? {} : { not: { type: 'null' } }) : this.#objectOf(property, fields)
    const { choices, allowOtherValues } = property
    if (choices === undefined || this.#isHeld) return bare
    if (allowOtherValues) return { ...bare, examples: [...choices] }
    if (fields === null) return { ...bare, enum: [...choices] }
    return { allOf: [bare, { anyOf: choices.map((choice) => choiceSchema(property, choice)) }] }
  }

  #objectOf(property: Property, fields: Shape | null): JsonObject {
    if (fields === null) return { type: 'object' }
    const { name, isNew } = this.#names.of(fields, property)
    // It is named before its fields are described, since it may contain itself.
    if (isNew) this.#models[name] = {}
    if (isNew) this.#models[name] = this.#object(fields, { fill: true })
    return { $ref: `#/$defs/${name}` }
  }
}

/** Names that begin with `$` are refused unless they are declared. */
function withoutReserved(schema: JsonObject, { properties }: Shape): JsonObject {
  const declared = [...properties.keys()].filter((name) => name.startsWith('$'))
  const others = { pattern: NOT_RESERVED }
  return { ...schema, propertyNames: declared.length === 0 ? others : { anyOf: [others, { enum: declared }] } }
}

/** Whether a value is refused without the property. */
const isNeeded = (property: Property, fill: boolean): boolean =>
  fill && property.defaultValue !== undefined ? filledValueOf(property) === null : property.required

/** What is known of a stored value: a default may break the rules, and anything may be null. */
const asHeld = (property: Property): Property => ({
  ...(property.defaultValue === undefined ? property : withoutRules(property)),
  allowNull: true,
})

const withoutRules = (property: Property): Property => ({ ...property, ...NO_RULES })

const NO_RULES = { min: undefined, max: undefined, minLength: undefined, maxLength: undefined, choices: undefined }
