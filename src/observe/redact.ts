// observe: keeps secrets out of the log. What looks like a secret is replaced, wherever it sits in the fields.
import { setOwn } from '../model/json.ts'

const REDACTED = '[redacted]'

/** Beyond it, fields are left out: a log line isn't a dump. */
const MAX_DEPTH = 8

const SECRET = /^(?:proxy-)?authorization$|^(?:set-)?cookies?$|password|passwd|secret|token$|tokens$|api-?key/i
/** The name and password in a URL. */
const CREDENTIALS = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi
const SCHEME = /\b(Bearer|Basic)(\s+)([\w.~+/=-]{8,})/gi
/** A word of a sentence, such as those of "the basic understanding". */
const WORD = /^[A-Za-z][a-z]{0,14}\.*$/

/** A copy for the log. Errors become their name, message, stack and cause; a list of `{ name, value }` is judged by the names. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(CREDENTIALS, `$1${REDACTED}@`).replace(SCHEME, hideCredentials)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[…]'
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  if (value instanceof Date) return value
  const copy: { [key: string]: unknown } = {}
  for (const [key, item] of entriesOf(value)) setOwn(copy, key, SECRET.test(key) ? REDACTED : redact(item, depth + 1))
  const { name } = copy
  if (typeof name === 'string' && SECRET.test(name) && Object.hasOwn(copy, 'value')) copy['value'] = REDACTED
  return copy
}

/** What follows `Bearer` or `Basic` in a header; a text may have the words for another reason. */
function hideCredentials(found: string, scheme: string, space: string, credentials: string): string {
  return WORD.test(credentials) ? found : scheme + space + REDACTED
}

/** The telling properties of an error aren't enumerable. */
function entriesOf(value: object): [string, unknown][] {
  if (!(value instanceof Error)) return Object.entries(value)
  const { name, message, stack, cause } = value
  return [...Object.entries(value), ...Object.entries({ name, message, stack, cause }).filter(([, part]) => part !== undefined)]
}
