// model: the fields of a form, as Twilio signs them.
import { textIn } from '../charset.ts'

/** Most fields of a form; sorting more would take more than linear time. Twilio sends a few dozen. */
const MAX_FIELDS = 1000

type FormContent = { readonly content: Uint8Array; readonly fault: null } | { readonly fault: string }

/**
 * The names, sorted by code units, each followed by its value. A name with several values stands before each of them;
 * they are sorted, and each is there once.
 */
export function formContent(body: Uint8Array): FormContent {
  let fields: Map<string, Set<string>> | null
  try {
    fields = readFields(textIn(body, 'utf-8', { strict: true }))
  } catch {
    // Both decoders throw only for malformed text.
    return { fault: 'the form is malformed' }
  }
  if (!fields) return { fault: `the form has more than ${MAX_FIELDS} fields` }
  // The default order of `sort` is that by code units.
  const content = [...fields.keys()]
    .sort()
    .flatMap((name) => [...(fields.get(name) ?? [])].sort().map((value) => name + value))
  return { content: Buffer.from(content.join('')), fault: null }
}

/** Null if there are too many. @throws URIError for a malformed escape */
function readFields(text: string): Map<string, Set<string>> | null {
  const fields = new Map<string, Set<string>>()
  let count = 0
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('&', at)
    const pair = text.slice(at, end === -1 ? text.length : end)
    at += pair.length + 1
    if (pair === '') continue
    if (++count > MAX_FIELDS) return null
    const equals = pair.indexOf('=')
    const name = decodeField(equals === -1 ? pair : pair.slice(0, equals))
    const values = fields.get(name) ?? new Set()
    fields.set(name, values.add(equals === -1 ? '' : decodeField(pair.slice(equals + 1))))
  }
  return fields
}

const decodeField = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))
