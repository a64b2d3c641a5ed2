// model: estimates how much memory data takes, from its text before it is parsed. Byte budgets are charged this amount,
// so the estimate is on the high side.

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

/**
 * Estimated bytes of a value; counting stops beyond `limit`. A value that occurs in several places is counted in each
 * of them, as in a text.
 */
export function bytesOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + VALUE_BYTES
  if (typeof value !== 'object' || value === null) return VALUE_BYTES
  let bytes = VALUE_BYTES
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && bytes <= limit; at += 1) bytes += bytesOf(value[at], limit - bytes)
    return bytes
  }
  for (const key of Object.keys(value)) {
    bytes += key.length + bytesOf(Reflect.get(value, key), limit - bytes)
    if (bytes > limit) break
  }
  return bytes
}
