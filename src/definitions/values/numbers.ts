// definitions: the number types: their ranges, and how their values are stored.
import { compareDecimals, formatDecimal, isWhole, MAX_DECIMAL_DIGITS, parseDecimal, type Decimal } from './decimals.ts'
import { ok, err, type ValueOrigin, type Result } from './coerced.ts'

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

/** A number as text. Those of which `parseDecimal` makes no whole number are among the second only with an exponent. */
export const DECIMAL_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
export const WHOLE_TEXT = /^[+-]?(?:\d+(?:\.0*)?|\.0+|(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d+)$/

/**
 * Reads a number. A long, bigInteger or bigDecimal given as text becomes a number if that is exactly equal, else text
 * in plain notation.
 */
export function readNumber(type: NumberType, value: unknown, origin: ValueOrigin): Result {
  if (typeof value === 'number') return readDouble(type, value)
  if (typeof value !== 'string' || (origin === 'json' && !isExact(type)))
    return err(`must be a number${isExact(type) ? ', or one as text' : ''}`)
  const decimal = parseDecimal(value)
  if (decimal === null)
    return err(value.length > MAX_DECIMAL_DIGITS ? `has more than ${MAX_DECIMAL_DIGITS} digits` : 'must be a number')
  if (!isFractional(type) && !isWhole(decimal)) return err('must be a whole number')
  return isExact(type) ? readExact(type, decimal) : readDouble(type, Number(value))
}

function readDouble(type: NumberType, value: number): Result {
  const [least, most] = RANGES[type]
  if (!isFractional(type) && Number.isFinite(value) && !Number.isInteger(value)) return err('must be a whole number')
  if (value >= least && value <= most) return ok(value + 0)
  if (isExact(type)) return err('is beyond 2^53 - 1, where a JSON number is not exact: send it as text')
  return err(isFractional(type) ? `must be within the range of a ${type}` : `must lie between ${least} and ${most}`)
}

const ZERO: Decimal = { negative: false, digits: '', exponent: 0 }
const decimalOf = (number: number | string): Decimal => parseDecimal(String(number)) ?? ZERO
const LEAST_LONG = decimalOf('-9223372036854775808')
const MOST_LONG = decimalOf('9223372036854775807')

function readExact(type: NumberType, decimal: Decimal): Result {
  if (type === 'long' && (compareDecimals(decimal, LEAST_LONG) < 0 || compareDecimals(decimal, MOST_LONG) > 0)) {
    return err('must lie between -9223372036854775808 and 9223372036854775807')
  }
  const text = formatDecimal(decimal)
  const number = Number(text)
  const same = Math.abs(number) <= Number.MAX_SAFE_INTEGER && compareDecimals(decimalOf(number), decimal) === 0
  return ok(same ? number : text)
}

/** Compares stored numbers, digit by digit if one is text: negative, 0 or positive. */
export function compareNumbers(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareDecimals(decimalOf(a), decimalOf(b))
}
