// observe: removes secrets from log lines and limits their size. The work is bounded by what a line shows, not by what
// is passed in.
import { setOwn } from '../model/json/value.ts'
import { HIDES_NOTHING, type SecretRedactor } from '../model/secret-redactor.ts'
import { isSecretName, redactQuery, REDACTED } from '../model/secret-names.ts'

/** Nesting beyond which values are left out. */
const MAX_DEPTH = 8
/** Maximum number of characters of one text, and of all texts of a line. */
const MAX_TEXT_CHARACTERS = 8 * 1024
const MAX_LINE_CHARACTERS = 64 * 1024
/** Maximum number of elements of a list or members of an object, and of both in a whole line. */
const MAX_ITEMS = 100
const MAX_LINE_ITEMS = 2000

/** The user name and password in a URL. `CUT_CREDENTIALS` matches those at which a text was cut off. */
const CREDENTIALS = /:\/\/[^\s/@]+@/g
const CUT_CREDENTIALS = /:\/\/[^\s/@]*$/
const SCHEME = /\b(Bearer|Basic)([ \t]{1,20})([\w.~+/=-]{3,})/gi
/** A word that may follow "basic" or "bearer" in a sentence, as in "the basic understanding", or a number. */
const WORD = /^(?:[A-Za-z][a-z]{0,14}|\d{1,7})\.*$/
/** A parameter in a URL or a form. */
const PARAMETER = /([?&][\w.~%-]{1,100}=)[^\s&#?"'<>]+/g

/** What the rest of the line may still hold. */
interface Room {
  characters: number
  items: number
  readonly redactor: SecretRedactor
}

/**
 * Returns a copy for the log. An error becomes its name, message, stack and cause. In an object `{ name, value }`, the
 * value is redacted if the name is that of a secret. It never throws.
 */
export function redact(value: unknown, redactor: SecretRedactor = HIDES_NOTHING): unknown {
  return shown(value, 0, { characters: MAX_LINE_CHARACTERS, items: MAX_LINE_ITEMS, redactor })
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

/** A long text is cut before it is searched. */
function textShown(text: string, room: Room) {
  const length = Math.min(text.length, MAX_TEXT_CHARACTERS, room.characters)
  room.characters -= length
  if (length === text.length) return redactText(room.redactor.text(text))
  // A secret at which the text is cut is hidden as well.
  const start = room.redactor.text(text.slice(0, length + room.redactor.longest)).slice(0, length)
  const shownStart = redactText(start).replace(CUT_CREDENTIALS, `://${REDACTED}`)
  return `${shownStart}[… ${text.length - length} characters more]`
}

const redactText = (text: string) =>
  text
    .replace(CREDENTIALS, `://${REDACTED}@`)
    // What follows may be an ordinary word of a sentence.
    .replace(SCHEME, (found: string, scheme: string, space: string, credentials: string) =>
      WORD.test(credentials) ? found : scheme + space + REDACTED,
    )
    .replace(PARAMETER, (pair) => pair.slice(0, 1) + redactQuery(pair.slice(1)))

function listShown(list: readonly unknown[], depth: number, room: Room) {
  const { some, more } = within(list, room)
  const copy = some.map((item) => shown(item, depth + 1, room))
  return more === 0 ? copy : [...copy, `[… ${more} more]`]
}

function fieldsShown(value: object, depth: number, room: Room) {
  const copy: { [key: string]: unknown } = {}
  const { some, more } = within(entriesOf(value), room)
  for (const [key, item] of some)
    setOwn(copy, textShown(key, room), isSecretName(key) && isFilled(item) ? REDACTED : shown(item, depth + 1, room))
  const { name } = copy
  if (typeof name === 'string' && isSecretName(name) && Object.hasOwn(copy, 'value')) copy['value'] = REDACTED
  if (more > 0) copy['…'] = `${more} more`
  return copy
}

/** The first of the items, as many as may be shown, and how many there are besides. */
function within<T>(items: readonly T[], room: Room) {
  const some = items.slice(0, Math.min(MAX_ITEMS, room.items))
  room.items -= some.length
  return { some, more: items.length - some.length }
}

/** Whether a value under a secret's name may be the secret. A boolean only says something about it. */
const isFilled = (item: unknown) => item !== '' && item !== null && item !== undefined && typeof item !== 'boolean'

/** The entries of an object. The standard properties of an error aren't enumerable, so they are added. */
function entriesOf(value: object) {
  if (!(value instanceof Error)) return Object.entries(value)
  const { name, message, stack, cause } = value
  return [...Object.entries({ name, message, stack, cause }), ...Object.entries(value)]
}
