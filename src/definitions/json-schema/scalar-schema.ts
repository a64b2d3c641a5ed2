// definitions: the JSON Schemas of values without fields, with the rules of their property.
import type { JsonObject } from '../../model/json/value.ts'
import { DATE_TEXT, MAX_DATE_MS } from '../values/dates.ts'
import { MAX_DECIMAL_CHARACTERS } from '../values/decimals.ts'
import type { Property } from '../values/property.ts'
import { BASE64, DECIMAL_TEXT, isExact, isFractional, RANGES, WHOLE_TEXT, type ScalarType } from '../values/types.ts'

/** The choices of a property, as a schema of its values says them. */
export function choicesOf({ choices, allowOtherValues }: Property): JsonObject {
  if (choices === undefined) return {}
  return { [allowOtherValues ? 'examples' : 'enum']: [...choices.values()] }
}

/** The schema of values that are not null. `isHeld`: of stored values. */
export function scalarSchema(type: ScalarType, property: Property, isHeld: boolean): JsonObject {
  const { minLength = 0, maxLength = Infinity } = property
  const chosen = choicesOf(property)
  // In code points, as JSON Schema counts.
  const textOf = (least: number, most: number) => ({
    type: 'string',
    ...(Math.max(minLength, least) > 0 && { minLength: Math.max(minLength, least) }),
    ...(Math.min(maxLength, most) < Infinity && { maxLength: Math.min(maxLength, most) }),
    ...chosen,
  })
  switch (type) {
    case 'string':
      return textOf(0, Infinity)
    case 'character':
      return textOf(1, 1)
    case 'boolean':
      return { type, ...chosen }
    case 'byte[]':
      return { type: 'string', contentEncoding: 'base64', pattern: BASE64.source, ...chosen }
    case 'date': {
      // It is stored as epoch milliseconds, without fractions.
      const time = { ...boundsOf([-MAX_DATE_MS, MAX_DATE_MS], property), ...chosen }
      if (isHeld) return { type: 'integer', ...time }
      return {
        anyOf: [
          { type: 'string', pattern: DATE_TEXT.source },
          { type: 'number', ...time },
        ],
      }
    }
    default: {
      const number = isFractional(type) ? 'number' : 'integer'
      const bounded = { type: number, ...boundsOf(RANGES[type], property) }
      if (!isExact(type)) return { ...bounded, ...chosen }
      // A number that JSON represents exactly, or any number as text.
      const pattern = (isFractional(type) ? DECIMAL_TEXT : WHOLE_TEXT).source
      const text = { type: 'string', maxLength: MAX_DECIMAL_CHARACTERS, pattern }
      const { enum: choices } = chosen
      if (!Array.isArray(choices)) return { anyOf: [{ ...bounded, ...chosen }, text] }
      return { anyOf: [bounded, text], enum: [...new Set([...choices, ...choices.map(String)])] }
    }
  }
}

/** A bound that is text counts as the nearest number of JSON. */
const boundsOf = ([least, most]: readonly [number, number], { min = least, max = most }: Property): JsonObject => ({
  minimum: Math.min(Math.max(least, Number(min)), Number.MAX_VALUE),
  maximum: Math.max(Math.min(most, Number(max)), -Number.MAX_VALUE),
})
