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

/** Characters in JSON text of one value, without those of a text: quotes or brackets, and a comma. */
const VALUE_CHARACTERS = 4

/**
 * Estimated bytes of a value; counting stops beyond `limit`. A value that occurs in several places is counted in each
 * of them, as in a text.
 */
export const bytesOf = (value: unknown, limit: number): number => weigh(value, limit, VALUE_BYTES)

/** Approximate number of characters of the JSON text of a value. Counting stops beyond `limit`. */
export const sizeOf = (value: unknown, limit: number): number => weigh(value, limit, VALUE_CHARACTERS)

/** The work is bounded by the limit, not by the value. `each`: of a value, beside the characters of texts and names. */
function weigh(value: unknown, limit: number, each: number): number {
  if (typeof value === 'string') return value.length + each
  let sum = each
  if (typeof value !== 'object' || value === null) return sum
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && sum <= limit; at += 1) sum += weigh(value[at], limit - sum, each)
    return sum
  }
  for (const key of Object.keys(value)) {
    sum += key.length + weigh(Reflect.get(value, key), limit - sum, each)
    if (sum > limit) break
  }
  return sum
}
