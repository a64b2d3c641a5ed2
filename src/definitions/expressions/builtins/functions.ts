// definitions/expressions/builtins: the functions of the language. None takes a function as argument. Time, randomness
// and UUIDs come from the turn.
import { getOwn } from '../../../model/json/value.ts'
import { parseDate } from '../../values/dates.ts'
import { parseJsonText } from '../../values/json-text.ts'
import { toldOf } from '../../values/told.ts'
import { isFields, isList, type Evaluation, type List, type Value } from '../evaluation.ts'
import { ExpressionError } from '../expression.ts'
import { jsonOf, typeNameOf, MAX_TEXT_DIGITS, numberOf, plainText } from '../values.ts'

type Callable = (run: Evaluation, args: List) => Value

/** Converts to a number. Unlike in JavaScript, empty text and null give NaN and not 0. */
function toNumber(run: Evaluation, value: Value) {
  const isEmpty = typeof value === 'string' && value.length <= MAX_TEXT_DIGITS && value.trim() === ''
  return value === null || value === undefined || isEmpty ? Number.NaN : numberOf(run, value)
}

/** Converts to a boolean as JavaScript does, except that blank text and the text `false`, in any case, are false. */
const toBoolean = (value: Value) =>
  typeof value === 'string' && value.length < 64 ? !['', 'false'].includes(value.trim().toLowerCase()) : Boolean(value)

/** Parses a date; without an argument, returns the current time. */
function toDate(run: Evaluation, args: List) {
  if (args.length === 0) return run.scope.turn.now
  const [value] = args
  run.spend(STEPS_OF_A_DATE)
  if (typeof value === 'number') return new Date(value).getTime()
  if (typeof value !== 'string') return Number.NaN
  run.scan(value.length)
  return parseDate(value) ?? Number.NaN
}

const STEPS_OF_A_DATE = 32
const STEPS_OF_A_UUID = 64

/** Returns a random integer from 0 to below the argument or, without one, a number from 0 to below 1. */
function random(run: Evaluation, args: List) {
  const fraction = run.scope.turn.random()
  if (args.length === 0) return fraction
  const below = toNumber(run, args[0])
  if (!(below > 0 && below <= Number.MAX_SAFE_INTEGER)) throw new ExpressionError('random() needs a positive number')
  return Math.floor(fraction * below)
}

/** Factor by which parsed data is charged, since it takes more memory and time than its text. */
const MADE_A_CHARACTER = 3
const MAX_JSON_DEPTH = 200
const STEPS_TO_PARSE = 16

function parseJson(run: Evaluation, [text]: List) {
  if (typeof text !== 'string') throw new ExpressionError(`parseJson() needs a text, not ${typeNameOf(text)}`)
  run.make(text.length * MADE_A_CHARACTER)
  run.spend(STEPS_TO_PARSE)
  try {
    const value = parseJsonText(text, MAX_JSON_DEPTH, run)
    run.measure(value)
    return value
  } catch (error) {
    if (error instanceof RangeError) throw new ExpressionError(`parseJson(): ${error.message}`)
    if (!(error instanceof SyntaxError)) throw error
    throw new ExpressionError(`parseJson(): ${toldOf(text)} is no JSON`)
  }
}

/** Keys of an object or a list; null has none. */
function keysOf(run: Evaluation, value: Value) {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') throw new ExpressionError(`an object is needed, not ${typeNameOf(value)}`)
  const keys = Object.keys(value)
  run.makeMembers(keys.length)
  return keys
}

function member(value: Value, key: string) {
  if (isList(value)) return value[Number(key)]
  return isFields(value) ? getOwn(value, key) : undefined
}

/** Minimum or maximum of the arguments, or of the elements of a single list argument. */
function extreme(run: Evaluation, args: List, better: (a: number, b: number) => number, start: number) {
  const numbers = args.length === 1 && isList(args[0]) ? args[0] : args
  run.spend(numbers.length)
  return numbers.reduce<number>((best, value) => better(best, numberOf(run, value)), start)
}

/** Characters that are encoded or decoded in one step. */
const RECODED_AT_ONCE = 2
const STEPS_TO_RECODE = 24

/** A conversion that fails on malformed text. `growth`: maximum factor by which the text grows. */
const recode =
  (growth: number, change: (text: string) => string): Callable =>
  (run, [value]) => {
    const text = plainText(run, value)
    run.make(text.length * growth)
    run.spend(STEPS_TO_RECODE + text.length / RECODED_AT_ONCE)
    try {
      return change(text)
    } catch {
      throw new ExpressionError('the text is malformed')
    }
  }

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeBase64(text: string) {
  if (!BASE64.test(text)) throw new TypeError('not base64')
  return utf8.decode(Buffer.from(text, 'base64'))
}

export const functions = new Map(
  Object.entries<Callable>({
    now: (run) => run.scope.turn.now,
    uuid: (run) => {
      run.spend(STEPS_OF_A_UUID)
      return run.scope.turn.uuid()
    },
    random,
    string: (run, [value]) => plainText(run, value),
    number: (run, [value]) => toNumber(run, value),
    boolean: (_, [value]) => toBoolean(value),
    date: toDate,
    json: (run, [value]) => jsonOf(run, value),
    parseJson,
    keys: (run, [value]) => keysOf(run, value),
    values: (run, [value]) => run.own(keysOf(run, value).map((key) => member(value, key))),
    entries: (run, [value]) => {
      const keys = keysOf(run, value)
      run.makeElements(2 * keys.length)
      return run.own(keys.map((key) => run.own([key, member(value, key)])))
    },
    size: (run, [value]) => (typeof value === 'string' || isList(value) ? value.length : keysOf(run, value).length),
    min: (run, args) => extreme(run, args, Math.min, Infinity),
    max: (run, args) => extreme(run, args, Math.max, -Infinity),
    abs: (run, [value]) => Math.abs(numberOf(run, value)),
    round: (run, [value]) => Math.round(numberOf(run, value)),
    floor: (run, [value]) => Math.floor(numberOf(run, value)),
    ceil: (run, [value]) => Math.ceil(numberOf(run, value)),
    // Encodes a component of a URI: every character with a special meaning is escaped.
    encodeUri: recode(3, encodeURIComponent),
    decodeUri: recode(1, decodeURIComponent),
    base64: recode(2, (text) => Buffer.from(text, 'utf8').toString('base64')),
    fromBase64: recode(1, decodeBase64),
  }),
)
