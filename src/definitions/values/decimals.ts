// definitions: exact decimal numbers as text in plain notation: without exponent, plus sign and superfluous zeros. They
// are compared digit by digit, where a double would round them.

/** A number whose plain notation has more digits is refused, since a short text can denote gigabytes of zeros. */
export const MAX_DECIMAL_DIGITS = 10_000

/** The same, with sign, point and exponent. */
export const MAX_DECIMAL_CHARACTERS = MAX_DECIMAL_DIGITS + 8

const NOTATION = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/**
 * The plain notation of `12`, `-0.50`, `.5`, `+1e3`; null for anything else (spaces, infinities, other notations, too
 * many digits).
 */
export function plainDecimal(text: string): string | null {
  const match = text.length > MAX_DECIMAL_CHARACTERS ? null : NOTATION.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', power = '0'] = match
  const all = whole + fraction
  let end = all.length
  while (all[end - 1] === '0') end -= 1
  const digits = all.slice(0, end).replace(/^0+/, '')
  if (digits === '') return all === '' ? null : '0'
  /** Digits before the point; if it is negative, zeros after it. */
  const point = whole.length + Number(power) - all.search(/[^0]/)
  if (Math.max(digits.length, point, digits.length - point) > MAX_DECIMAL_DIGITS) return null
  const before = digits.slice(0, Math.max(0, point)).padEnd(point, '0')
  const after = '0'.repeat(Math.max(0, -point)) + digits.slice(Math.max(0, point))
  return `${sign === '-' ? '-' : ''}${before || '0'}${after && `.${after}`}`
}

/** Compares two numbers in plain notation: negative, 0 or positive. */
export function compareDecimals(one: string, other: string): number {
  const [isNegative, size, otherSize] = [one.startsWith('-'), one.search(/\.|$/), other.search(/\.|$/)]
  if (isNegative !== other.startsWith('-')) return isNegative ? -1 : 1
  const larger = size === otherSize ? one > other : size > otherSize
  return one === other ? 0 : larger === isNegative ? -1 : 1
}
