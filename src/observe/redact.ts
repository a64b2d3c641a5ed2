// observe: keeps secrets out of the log, and what is too large for it. A line costs what it shows, whatever it was
// given.
import { setOwn } from '../model/json/value.ts'
import { isSecretName, redactQuery, REDACTED } from '../model/secret-names.ts'

/** Beyond it, fields are left out: a log line isn't a dump. */
const MAX_DEPTH = 8
/** Characters of one text, and of all texts of a line together. */
const MAX_TEXT_CHARACTERS = 8 * 1024
const MAX_LINE_CHARACTERS = 64 * 1024
/** Elements of a list, members of an object, and both of a whole line. */
const MAX_ITEMS = 100
const MAX_LINE_ITEMS = 2000

/** The name and password in a URL. `end`: a text that was cut may end within them. */
const CREDENTIALS = /:\/\/[^\s/@]+@/g
const CUT_CREDENTIALS = /:\/\/[^\s/@]*$/
const SCHEME = /\b(Bearer|Basic)([ \t]{1,20})([\w.~+/=-]{3,})/gi
/** A word of a sentence, such as those of "the basic understanding", or a number. */
const WORD = /^(?:[A-Za-z][a-z]{0,14}|\d{1,7})\.*$/
/** A parameter in a URL or a form. */
const PARAMETER = /([?&][\w.~%-]{1,100}=)[^\s&#?"'<>]+/g

/** What is left of the line for what follows. */
interface Room {
  characters: number
  items: number
}

/**
 * A copy for the log. Errors become their name, message, stack and cause; a list of `{ name, value }` is judged by the
 * names. Nothing that it is given makes it throw.
 */
export function redact(value: unknown): unknown {
  return shown(value, 0, { characters: MAX_LINE_CHARACTERS, items: MAX_LINE_ITEMS })
}

function shown(value: unknown, depth: number, room: Room): unknown {
  if (typeof value === 'string') return textShown(value, room)
  if (typeof value === 'bigint') return textShown(value.toString(), room)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH || room.items <= 0) return '[…]'
  if (value instanceof Date) return value
  try {
    return Array.isArray(value) ? listShown(value, depth, room) : fieldsShown(value, depth, room)
  } catch {
    return "[can't be shown]"
  }
}

/** What is long is cut before anything is looked for in it. */
function textShown(text: string, room: Room): string {
  const length = Math.min(text.length, MAX_TEXT_CHARACTERS, room.characters)
  room.characters -= length
  if (length === text.length) return redactText(text)
  const start = redactText(text.slice(0, length)).replace(CUT_CREDENTIALS, `://${REDACTED}`)
  return `${start}[… ${text.length - length} characters more]`
}

const redactText = (text: string): string =>
  text
    .replace(CREDENTIALS, `://${REDACTED}@`)
    .replace(SCHEME, hideCredentials)
    .replace(PARAMETER, (pair) => pair.slice(0, 1) + redactQuery(pair.slice(1)))

function listShown(list: readonly unknown[], depth: number, room: Room): unknown[] {
  const items = list.slice(0, Math.min(MAX_ITEMS, room.items))
  room.items -= items.length
  const copy = items.map((item) => shown(item, depth + 1, room))
  return items.length === list.length ? copy : [...copy, `[… ${list.length - items.length} more]`]
}

function fieldsShown(value: object, depth: number, room: Room): object {
  const copy: { [key: string]: unknown } = {}
  const entries = entriesOf(value)
  const some = entries.slice(0, Math.min(MAX_ITEMS, room.items))
  room.items -= some.length
  for (const [key, item] of some) {
    setOwn(copy, textShown(key, room), isSecretName(key) && isFilled(item) ? REDACTED : shown(item, depth + 1, room))
  }
  const { name } = copy
  if (typeof name === 'string' && isSecretName(name) && Object.hasOwn(copy, 'value')) copy['value'] = REDACTED
  if (some.length < entries.length) copy['…'] = `${entries.length - some.length} more`
  return copy
}

/** A truth tells of a secret, but is none. */
const isFilled = (item: unknown): boolean =>
  item !== '' && item !== null && item !== undefined && typeof item !== 'boolean'

/** What follows `Bearer` or `Basic` in a header; a text may have the words for another reason. */
function hideCredentials(found: string, scheme: string, space: string, credentials: string): string {
  return WORD.test(credentials) ? found : scheme + space + REDACTED
}

/** The telling properties of an error aren't enumerable. */
function entriesOf(value: object): [string, unknown][] {
  if (!(value instanceof Error)) return Object.entries(value)
  const { name, message, stack, cause } = value
  return [
    ...Object.entries({ name, message, stack, cause }).filter(([, part]) => part !== undefined),
    ...Object.entries(value),
  ]
}
