// definitions: the bounds of numbers as keywords of JSON Schema. Bounds that are text are compared digit by digit, so the
// nearest number that is not beyond one stands for it.
import type { JsonObject } from '../../model/json/value.ts'
import { compareNumbers } from '../values/numbers.ts'
import type { Property } from '../values/property.ts'

/** The bounds of a number type together with those of its property. */
export function numberBounds(
  [least, most]: readonly [number, number],
  { min, max }: Pick<Property, 'min' | 'max'>,
): JsonObject {
  const minimum = Math.max(least, min === undefined ? -Infinity : leastFrom(min))
  const maximum = Math.min(most, max === undefined ? Infinity : -leastFrom(negated(max)))
  return {
    // JSON has no infinity: no number is above the greatest.
    ...(minimum === Infinity ? { exclusiveMinimum: Number.MAX_VALUE } : { minimum }),
    ...(maximum === -Infinity ? { exclusiveMaximum: -Number.MAX_VALUE } : { maximum }),
  }
}

/** The bounds of a time in milliseconds, of which fractions are dropped towards zero. */
export const dateBounds = (min: number, max: number): JsonObject => ({
  ...(min > 0 ? { minimum: min } : { exclusiveMinimum: min - 1 }),
  ...(max < 0 ? { maximum: max } : { exclusiveMaximum: max + 1 }),
})

/** The least double that is not below the bound. */
function leastFrom(bound: number | string): number {
  if (typeof bound === 'number') return bound
  const nearest = Number(bound)
  return Number.isFinite(nearest) && compareNumbers(nearest, bound) < 0 ? nextAbove(nearest) : nearest
}

const negated = (bound: number | string): number | string =>
  typeof bound === 'number' ? -bound : bound.startsWith('-') ? bound.slice(1) : `-${bound.replace('+', '')}`

const bits = new DataView(new ArrayBuffer(8))

/** The next double above a finite one. */
function nextAbove(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return bits.getFloat64(0)
}
