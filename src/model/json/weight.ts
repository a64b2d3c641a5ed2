// model: about how much memory data takes, told before it is parsed. Rather too much than too little: it is what
// budgets of bytes are charged.

/** Of a value beside its characters: an object of few fields, an element of a list, a name. */
const VALUE_BYTES = 64

/** `,` `:` `[` `{` of JSON, `<` of XML, `&` `=` of forms: about as many as there are values. */
const MARKS = new Uint8Array(128)
for (const mark of ',:[{<&=') MARKS[mark.charCodeAt(0)] = 1

/** Bytes of what a text of JSON, XML or a form is parsed to. Linear in its length. */
export function parsedBytes(text: string | Uint8Array): number {
  let marks = 0
  if (typeof text === 'string') for (let at = 0; at < text.length; at += 1) marks += MARKS[text.charCodeAt(at)] ?? 0
  else for (let at = 0; at < text.length; at += 1) marks += MARKS[text[at] ?? 0] ?? 0
  return text.length + marks * VALUE_BYTES
}

/**
 * Bytes of data that is there already; stops counting beyond `limit`. What occurs in several places counts in each, as
 * it does in a text.
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
