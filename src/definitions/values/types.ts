// definitions: the types of properties, and the coercion of scalar values. Models, objects and lists: see reader.ts.
import type { Json } from '../../model/json/value.ts'
import { parseDate } from './dates.ts'
import { compareDecimals, MAX_DECIMAL_DIGITS, plainDecimal } from './decimals.ts'

export const PROPERTY_TYPES = [
  'string',
  'character',
  'boolean',
  'byte',
  'short',
  'integer',
  'long',
  'float',
  'double',
  'bigInteger',
  'bigDecimal',
  'date',
  'byte[]',
  'object',
  'model',
  'any',
] as const

export type PropertyType = (typeof PROPERTY_TYPES)[number]

export const isPropertyType = (type: string): type is PropertyType => PROPERTY_TYPES.some((known) => known === type)

/** `defaultValue` of a date that stands for the time at which the default is used. */
export const NOW = 'now'

/** Types whose values have no fields. `readScalar` coerces them. */
export type ScalarType = Exclude<PropertyType, 'object' | 'model' | 'any'>

/**
 * Where a value comes from. `json`: it must have the JSON type of its declared type. `text`: text is coerced, other
 * values follow the rules of `json`. `line`: as `text`, and a number or boolean becomes text for a string. `default`:
 * as `line`, and a date may be `now`.
 */
export type ValueOrigin = 'json' | 'text' | 'line' | 'default'

/** Records why a value can't be read. */
export type Refuse = (reason: string) => undefined

/** Coerces a scalar value; undefined after a refusal. `now`: epoch milliseconds. */
export function readScalar(type: ScalarType, given: Json, origin: ValueOrigin, now: number, refuse: Refuse) {
  // In XML, line breaks and indentation may surround a value.
  const value =
    origin === 'text' && typeof given === 'string' && type !== 'string' && type !== 'character' ? given.trim() : given
  if (isNumberType(type)) return readNumber(type, value, origin, refuse)
  switch (type) {
    case 'string': {
      const becomesText = origin === 'line' || origin === 'default'
      if (becomesText && (typeof value === 'number' || typeof value === 'boolean')) return String(value)
      return typeof value === 'string' ? value : refuse('must be text')
    }
    case 'character':
      return typeof value === 'string' && value.length <= 2 && [...value].length === 1
        ? value
        : refuse('must be text of exactly one character')
    case 'boolean': {
      if (typeof value === 'boolean') return value
      const word = typeof value === 'string' && origin !== 'json' && value.length <= 5 ? value.toLowerCase() : ''
      return word === 'true' || word === 'false' ? word === 'true' : refuse('must be true or false')
    }
    case 'date':
      if (value === NOW && origin === 'default') return now
      return parseDate(value) ?? refuse('must be a date: ISO 8601 text or epoch milliseconds')
    case 'byte[]':
      return typeof value === 'string' && isBase64(value) ? value : refuse('must be base64 text')
  }
}

/** Base64 of RFC 4648, section 4, with padding: what `isBase64` accepts, as a single pattern. */
export const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const isBase64 = (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/**
 * The least and the greatest JSON number that each type accepts. Beyond 2^53 − 1, a JSON number may differ from what
 * its sender wrote.
 */
export const RANGES = {
  byte: [-128, 127],
  short: [-32_768, 32_767],
  integer: [-2_147_483_648, 2_147_483_647],
  long: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  bigInteger: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  bigDecimal: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  float: [-3.402_823_466_385_288_6e38, 3.402_823_466_385_288_6e38],
  double: [-Number.MAX_VALUE, Number.MAX_VALUE],
} as const

export type NumberType = keyof typeof RANGES

export const isNumberType = (type: string): type is NumberType => Object.hasOwn(RANGES, type)

export const isFractional = (type: NumberType): boolean =>
  type === 'float' || type === 'double' || type === 'bigDecimal'

/** Types whose values do not all fit into a JSON number. They are accepted as text, also in JSON. */
export const isExact = (type: NumberType): boolean => type === 'long' || type === 'bigInteger' || type === 'bigDecimal'

/** A number as text, and a whole number as text. The second also matches some fractions that have an exponent. */
export const DECIMAL_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
export const WHOLE_TEXT = /^[+-]?(?:\d+(?:\.0*)?|\.0+|(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+)$/

/**
 * Reads a number. A long, bigInteger or bigDecimal given as text becomes a number if that is exactly equal, else text
 * in plain notation.
 */
function readNumber(type: NumberType, value: unknown, origin: ValueOrigin, refuse: Refuse) {
  if (typeof value === 'number') return readDouble(type, value, refuse)
  if (typeof value !== 'string' || (origin === 'json' && !isExact(type)))
    return refuse(`must be a number${isExact(type) ? ', or one as text' : ''}`)
  const decimal = plainDecimal(value)
  if (decimal === null)
    return refuse(value.length > MAX_DECIMAL_DIGITS ? `has more than ${MAX_DECIMAL_DIGITS} digits` : 'must be a number')
  if (!isFractional(type) && decimal.includes('.')) return refuse('must be a whole number')
  if (!isExact(type)) return readDouble(type, Number(value), refuse)
  if (type === 'long' && (compareDecimals(decimal, LEAST_LONG) < 0 || compareDecimals(decimal, MOST_LONG) > 0))
    return refuse(`must lie between ${LEAST_LONG} and ${MOST_LONG}`)
  const number = Number(decimal)
  const isSame = String(number) === decimal || plainOf(number) === decimal
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER && isSame ? number : decimal
}

const [LEAST_LONG, MOST_LONG] = ['-9223372036854775808', '9223372036854775807'] as const

function readDouble(type: NumberType, value: number, refuse: Refuse) {
  const [least, most] = RANGES[type]
  if (!isFractional(type) && Number.isFinite(value) && !Number.isInteger(value)) return refuse('must be a whole number')
  if (value >= least && value <= most) return value + 0
  if (isExact(type)) return refuse('is beyond 2^53 - 1, where a JSON number is not exact: send it as text')
  return refuse(isFractional(type) ? `must be within the range of a ${type}` : `must lie between ${least} and ${most}`)
}

const plainOf = (number: number | string) => plainDecimal(String(number)) ?? '0'

/** Compares stored numbers, digit by digit if one is text: negative, 0 or positive. */
export const compareNumbers = (a: number | string, b: number | string): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : compareDecimals(plainOf(a), plainOf(b))
