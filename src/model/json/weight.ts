// model: estimates how much memory data takes, also from its text before it is parsed. Byte budgets are charged this
// amount, so the estimate is on the high side. The length of its JSON text is estimated in the same way.

/** Memory of one value or name, without its characters. */
const VALUE_BYTES = 64

/**
 * Characters that separate values: `,` `:` `[` `{` in JSON, `<` in XML, `&` `=` in forms. A text has about as many of
 * them as values.
 */
const MARKS = new Uint8Array(128)
for (const mark of ',:[{<&=') MARKS[mark.charCodeAt(0)] = 1

/** Estimated bytes of the data that a text of JSON, XML or a form is parsed to. The time is linear in its length. */
export function parsedBytes(text: string | Uint8Array): number {
  let marks = 0
  if (typeof text === 'string') for (let at = 0; at < text.length; at += 1) marks += MARKS[text.charCodeAt(at)] ?? 0
  else for (let at = 0; at < text.length; at += 1) marks += MARKS[text[at] ?? 0] ?? 0
  return text.length + marks * VALUE_BYTES
}

/** What each part of a value counts. */
interface Weights {
  /** A text, beside its characters. */
  readonly text: number
  readonly scalar: number
  readonly container: number
  readonly element: number
  /** A name, beside its characters. */
  readonly name: number
}

const IN_MEMORY: Weights = { text: VALUE_BYTES, scalar: VALUE_BYTES, container: VALUE_BYTES, element: 0, name: 0 }
const AS_JSON: Weights = { text: 2, scalar: 4, container: 2, element: 1, name: 4 }

/**
 * Estimated bytes of a value; counting stops beyond `limit`. A value that occurs in several places is counted in each
 * of them, as in a text.
 */
export const bytesOf = (value: unknown, limit: number): number => weigh(value, limit, IN_MEMORY)

/** Approximate number of characters of the JSON text of a value. Counting stops beyond `limit`. */
export const sizeOf = (value: unknown, limit: number): number => weigh(value, limit, AS_JSON)

/** The work is bounded by the limit, not by the value. */
function weigh(value: unknown, limit: number, weights: Weights): number {
  if (typeof value === 'string') return value.length + weights.text
  if (typeof value !== 'object' || value === null) return weights.scalar
  let sum = weights.container
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && sum <= limit; at += 1)
      sum += weights.element + weigh(value[at], limit - sum, weights)
    return sum
  }
  for (const key of Object.keys(value)) {
    sum += key.length + weights.name + weigh(Reflect.get(value, key), limit - sum, weights)
    if (sum > limit) break
  }
  return sum
}
