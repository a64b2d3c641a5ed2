// definitions: the JSON Schemas of values without fields, with the rules of their property.
import type { Json, JsonObject } from '../../model/json/value.ts'
import { DATE_TEXT, MAX_DATE_MS } from '../values/dates.ts'
import { MAX_DECIMAL_CHARACTERS } from '../values/decimals.ts'
import {
  DECIMAL_TEXT,
  isExact,
  isFractional,
  isNumberType,
  RANGES,
  WHOLE_TEXT,
  type NumberType,
} from '../values/numbers.ts'
import type { Property } from '../values/property.ts'
import { BASE64, type ScalarType } from '../values/types.ts'
import { dateBounds, numberBounds } from './number-bounds.ts'

/** Accepts nothing. */
export const NEVER: JsonObject = { not: {} }

/** The schema of values that are not null. `isHeld`: of values as they are stored. */
export function scalarSchema(type: ScalarType, property: Property, isHeld: boolean): JsonObject {
  if (isNumberType(type)) return isExact(type) ? exactSchema(type, property) : numberSchema(type, property)
  switch (type) {
    case 'string':
      return { type: 'string', ...lengthsOf(property, 0, Infinity), ...choicesOf(property) }
    case 'character':
      return { type: 'string', ...lengthsOf(property, 1, 1), ...choicesOf(property) }
    case 'boolean':
      return { type: 'boolean', ...choicesOf(property) }
    case 'byte[]':
      return { type: 'string', contentEncoding: 'base64', pattern: BASE64.source, ...choicesOf(property) }
    case 'date':
      return dateSchema(property, isHeld)
  }
}

const numberSchema = (type: NumberType, property: Property): JsonObject => ({
  type: isFractional(type) ? 'number' : 'integer',
  ...numberBounds(RANGES[type], property),
  ...choicesOf(property),
})

/** A number that JSON holds exactly, or any one as text. */
function exactSchema(type: NumberType, property: Property): JsonObject {
  const { choices, allowOtherValues } = property
  const text = { type: 'string', maxLength: MAX_DECIMAL_CHARACTERS }
  const pattern = (isFractional(type) ? DECIMAL_TEXT : WHOLE_TEXT).source
  if (choices === undefined || allowOtherValues) return { anyOf: [numberSchema(type, property), { ...text, pattern }] }
  const numbers = choices.filter((choice) => typeof choice === 'number')
  const texts = { type: 'string', enum: choices.map(String) }
  return numbers.length === 0 ? texts : { anyOf: [numberSchema(type, { ...property, choices: numbers }), texts] }
}

/** Epoch milliseconds, of which fractions are dropped, or text. It is stored as milliseconds. */
function dateSchema(property: Property, isHeld: boolean): JsonObject {
  const { min = -MAX_DATE_MS, max = MAX_DATE_MS, choices = [], allowOtherValues } = property
  const time = { ...dateBounds(Number(min), Number(max)), ...choicesOf(property) }
  if (isHeld) return { type: 'integer', ...time }
  const text = { type: 'string', pattern: DATE_TEXT.source }
  if (choices.length === 0 || allowOtherValues) return { anyOf: [text, { type: 'number', ...time }] }
  const fractions = {
    type: 'number',
    not: { type: 'integer' },
    anyOf: choices.map((choice) => dateBounds(Number(choice), Number(choice))),
  }
  return { anyOf: [text, { type: 'number', ...choicesOf(property) }, fractions] }
}

function choicesOf({ choices, allowOtherValues }: Property): JsonObject {
  if (choices === undefined) return {}
  return allowOtherValues ? { examples: [...choices] } : { enum: [...choices] }
}

/** In code points, as JSON Schema counts. */
function lengthsOf({ minLength = 0, maxLength = Infinity }: Property, least: number, most: number): JsonObject {
  const [min, max] = [Math.max(minLength, least), Math.min(maxLength, most)]
  return { ...(min > 0 && { minLength: min }), ...(max < Infinity && { maxLength: max }) }
}

const withNull = (list: Json[]): Json[] => (list.includes(null) ? list : [...list, null])

/** The schema, or null. */
export function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema
  if (typeof type === 'string')
    return { ...schema, type: [type, 'null'], ...(Array.isArray(values) && { enum: withNull(values) }) }
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (Array.isArray(values)) return { ...schema, enum: withNull(values) }
  return Object.keys(schema).some((key) => key !== 'examples') ? { anyOf: [schema, { type: 'null' }] } : schema
}
