// Dates with fractions of a millisecond, and dates and large numbers as text: schemas describe these only roughly.
import type { Property, Shape } from '../../../src/definitions/values/properties.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../../src/model/json/value.ts'

const ROUGH: ReadonlySet<string> = new Set(['date', 'long', 'bigInteger', 'bigDecimal'])

/** Whether a date or a large number is given as text, or a date with a fraction. */
function hasRoughText(property: Property, given: Json): boolean {
  if (Array.isArray(given)) return given.some((item) => hasRoughText(property, item))
  if (typeof given === 'string') return ROUGH.has(property.type)
  if (typeof given === 'number') return property.type === 'date' && !Number.isInteger(given)
  if (!isObject(given) || property.type !== 'model') return false
  const fields = property.fields()
  return fields !== null && hasRough(fields, given)
}

/** Whether any of the inputs is one that a schema describes roughly. */
export const hasRough = ({ properties }: Shape, given: JsonObject): boolean =>
  [...properties].some(([name, property]) => hasRoughText(property, getOwn(given, name) ?? null))
