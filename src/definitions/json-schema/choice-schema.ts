// definitions: the JSON Schema of the values of a model that are equal to a choice once they are read: with defaults
// filled in, and texts coerced. The choice itself is compared as it is written.
import { canonical, getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { isExact, isNumberType } from '../values/numbers.ts'
import { elementOf, type Property, type Shape } from '../values/property.ts'
import { filledValueOf, objectSchema } from './object-schema.ts'
import { NEVER, scalarSchema } from './scalar-schema.ts'

export function choiceSchema(property: Property, choice: Json): JsonObject {
  if (choice === null) return { type: 'null' }
  if (property.array && Array.isArray(choice)) return listSchema(property, choice)
  const { type } = property
  if (type === 'date' && !Number.isInteger(choice)) return NEVER
  // Of these, a value may be written in several ways.
  if (type === 'date' || (isNumberType(type) && isExact(type)))
    return scalarSchema(type, { ...property, choices: [choice], allowOtherValues: false }, false)
  const fields = type === 'model' ? property.fields() : null
  return fields !== null && isObject(choice) ? modelSchema(fields, choice) : { const: choice }
}

function listSchema(property: Property, choice: readonly Json[]): JsonObject {
  const element = elementOf(property)
  const bounds = { minItems: choice.length, maxItems: choice.length }
  if (choice.length === 0) return { type: 'array', ...bounds }
  return { type: 'array', prefixItems: choice.map((item) => choiceSchema(element, item)), ...bounds }
}

function modelSchema({ properties }: Shape, choice: JsonObject): JsonObject {
  const schemas = new Map<string, JsonObject>()
  const required: string[] = []
  for (const [name, property] of properties) {
    const value = getOwn(choice, name)
    schemas.set(name, value === undefined ? NEVER : choiceSchema(property, value))
    const filled = filledValueOf(property)
    const isFilled = filled?.isTimed === false && value !== undefined && canonical(filled.value) === canonical(value)
    const isGiven = value !== undefined || property.defaultValue !== undefined
    if (isGiven && !isFilled) required.push(name)
  }
  for (const [name, value] of Object.entries(choice)) {
    if (properties.has(name)) continue
    schemas.set(name, { const: value })
    required.push(name)
  }
  return objectSchema(schemas, { required, extra: false })
}
