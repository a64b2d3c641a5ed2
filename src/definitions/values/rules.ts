// definitions: the rules of a property beyond its type: bounds, lengths, choices.
import { canonical, type Json } from '../../model/json/value.ts'
import { compareNumbers } from './numbers.ts'
import type { Property } from './property.ts'

/**
 * Returns the first rule of the property that a value breaks, as a message; null if it breaks none. The value has the
 * property's type.
 */
export function brokenRule(property: Property, value: Json): string | null {
  const { min, max, choices } = property
  if ((min !== undefined || max !== undefined) && (typeof value === 'number' || typeof value === 'string')) {
    if (min !== undefined && compareNumbers(value, min) < 0) return `must not be less than ${shown(property, min)}`
    if (max !== undefined && compareNumbers(value, max) > 0) return `must not be greater than ${shown(property, max)}`
  }
  if (typeof value === 'string') {
    const reason = wrongLength(property, value)
    if (reason !== null) return reason
  }
  if (choices === undefined || property.allowOtherValues) return null
  return textsOf(choices).has(canonical(value)) ? null : 'is not one of the choices'
}

/** Cache of the canonical texts of lists of choices. */
const known = new WeakMap<readonly Json[], ReadonlySet<string>>()

function textsOf(choices: readonly Json[]): ReadonlySet<string> {
  const texts = known.get(choices) ?? new Set(choices.map(canonical))
  known.set(choices, texts)
  return texts
}

const shown = ({ type }: Property, bound: number | string): string =>
  type === 'date' ? new Date(bound).toISOString() : String(bound)

function wrongLength({ minLength, maxLength }: Property, text: string): string | null {
  if (minLength === undefined && maxLength === undefined) return null
  const length = codePoints(text)
  if (minLength !== undefined && length < minLength) return `must have at least ${minLength} characters`
  return maxLength !== undefined && length > maxLength ? `must have at most ${maxLength} characters` : null
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
