// definitions: exact decimal numbers as text. They are compared and stored digit by digit, where a double would round
// them.

/** The number `digits` × 10^`exponent`. `digits` neither begins nor ends with a zero, and is empty for zero. */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: number
}

/** A number whose plain notation has more digits is refused, since a short text can denote gigabytes of zeros. */
export const MAX_DECIMAL_DIGITS = 10_000

/** The same, with sign, point and exponent. */
export const MAX_DECIMAL_CHARACTERS = MAX_DECIMAL_DIGITS + 8

const NOTATION = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/**
 * Parses `12`, `-0.50`, `.5`, `+1e3`. Returns null for anything else (spaces, infinities, other notations, too many
 * digits).
 */
export function parseDecimal(text: string): Decimal | null {
  if (text.length > MAX_DECIMAL_CHARACTERS) return null
  const match = NOTATION.exec(text)
  if (match === null) return null
  const [, sign = '', whole = '', fraction = '', power = '0'] = match
  if (whole === '' && fraction === '') return null
  const all = whole + fraction
  let start = 0
  let end = all.length
  while (start < end && all[start] === '0') start++
  while (end > start && all[end - 1] === '0') end--
  if (start === end) return { negative: false, digits: '', exponent: 0 }
  const decimal = {
    negative: sign === '-',
    digits: all.slice(start, end),
    exponent: Number(power) - fraction.length + all.length - end,
  }
  return plainLength(decimal) > MAX_DECIMAL_DIGITS ? null : decimal
}

const plainLength = ({ digits, exponent }: Decimal): number =>
  exponent >= 0 ? digits.length + exponent : Math.max(digits.length, -exponent)

export const isWhole = (decimal: Decimal): boolean => decimal.exponent >= 0

/** Formats in plain notation: without exponent, plus sign and superfluous zeros. */
export function formatDecimal({ negative, digits, exponent }: Decimal): string {
  if (digits === '') return '0'
  const padded = exponent >= 0 ? digits + '0'.repeat(exponent) : digits.padStart(1 - exponent, '0')
  const point = exponent >= 0 ? padded.length : padded.length + exponent
  return `${negative ? '-' : ''}${padded.slice(0, point)}${point < padded.length ? `.${padded.slice(point)}` : ''}`
}

/** Compares two decimals for sorting: negative, 0 or positive. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const sign = (decimal: Decimal) => (decimal.digits === '' ? 0 : decimal.negative ? -1 : 1)
  if (sign(a) !== sign(b) || sign(a) === 0) return sign(a) - sign(b)
  const size = (decimal: Decimal) => decimal.digits.length + decimal.exponent
  const larger = size(a) !== size(b) ? size(a) - size(b) : a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1
  return sign(a) * larger
}
