// definitions/expressions/builtins: the functions of the language. None takes a function as argument. Time, randomness
// and UUIDs come from the turn.
import { getOwn } from '../../../model/json/value.ts'
import type { Evaluation, List, Value } from '../evaluation.ts'
import { isFields, isList } from '../evaluation.ts'
import { ExpressionError } from '../expression.ts'
import { parseDate } from '../../values/dates.ts'
import { parseJsonText } from '../../values/json-text.ts'
import { toldOf } from '../../values/told.ts'
import { jsonOf, typeNameOf, MAX_TEXT_DIGITS, numberOf, plainText } from '../values.ts'

export type Callable = (run: Evaluation, args: List) => Value

/** Converts to a number. Unlike in JavaScript, empty text and null give NaN and not 0. */
function toNumber(run: Evaluation, value: Value): number {
  if (
    value === null ||
    value === undefined ||
    (typeof value === 'string' && value.length <= MAX_TEXT_DIGITS && value.trim() === '')
  )
    return Number.NaN
  return numberOf(run, value)
}

/** Converts to a boolean as JavaScript does, except that blank text and the text `false`, in any case, are false. */
function toBoolean(value: Value): boolean {
  return typeof value === 'string' && value.length < 64
    ? !['', 'false'].includes(value.trim().toLowerCase())
    : Boolean(value)
}

/** Parses a date; without an argument, returns the current time. */
function toDate(run: Evaluation, args: List): number {
  if (args.length === 0) return run.scope.turn.now
  const [value] = args
  run.spend(STEPS_OF_A_DATE)
  if (typeof value === 'string') {
    run.scan(value.length)
    return parseDate(value) ?? Number.NaN
  }
  return typeof value === 'number' ? new Date(value).getTime() : Number.NaN
}

const STEPS_OF_A_DATE = 32
const STEPS_OF_A_UUID = 64

/** Returns a random integer from 0 to below the argument or, without one, a number from 0 to below 1. */
function random(run: Evaluation, args: List): number {
  if (args.length === 0) return run.scope.turn.random()
  const below = toNumber(run, args[0])
  if (!(below > 0 && below <= Number.MAX_SAFE_INTEGER)) throw new ExpressionError('random() needs a positive number')
  return Math.floor(run.scope.turn.random() * below)
}

function uuid(run: Evaluation): string {
  run.spend(STEPS_OF_A_UUID)
  return run.scope.turn.uuid()
}

/** Factor by which parsed data is charged, since it takes more memory and time than its text. */
const MADE_A_CHARACTER = 3
const MAX_JSON_DEPTH = 200
const STEPS_TO_PARSE = 16

function parseJson(run: Evaluation, [text]: List): Value {
  if (typeof text !== 'string') throw new ExpressionError(`parseJson() needs a text, not ${typeNameOf(text)}`)
  run.make(text.length * MADE_A_CHARACTER)
  let value: Value
  try {
    run.spend(STEPS_TO_PARSE)
    value = parseJsonText(text, { maxDepth: MAX_JSON_DEPTH, spend: (steps) => run.spend(steps) })
  } catch (error) {
    if (error instanceof RangeError) throw new ExpressionError(`parseJson(): ${error.message}`)
    if (!(error instanceof SyntaxError)) throw error
    const [place = ''] = / at position \d+/.exec(error.message) ?? []
    throw new ExpressionError(`parseJson(): ${toldOf(text)} is no JSON${place}`)
  }
  run.measure(value)
  return value
}

/** Keys of an object or a list; null has none. */
function keysOf(run: Evaluation, name: string, value: Value): string[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') throw new ExpressionError(`${name}() needs an object, not ${typeNameOf(value)}`)
  const keys = Object.keys(value)
  run.makeMembers(keys.length)
  return keys
}

function member(value: Value, key: string): Value {
  if (isList(value)) return value[Number(key)]
  return isFields(value) ? getOwn(value, key) : undefined
}

function entries(run: Evaluation, [value]: List): Value {
  const keys = keysOf(run, 'entries', value)
  run.makeElements(2 * keys.length)
  return run.own(keys.map((key) => run.own([key, member(value, key)])))
}

function size(run: Evaluation, value: Value): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'string' || isList(value)) return value.length
  if (isFields(value)) return keysOf(run, 'size', value).length
  throw new ExpressionError(`size() needs a text, a list or an object, not ${typeNameOf(value)}`)
}

/** Minimum or maximum of the arguments, or of the elements of a single list argument. */
function extreme(run: Evaluation, args: List, better: (a: number, b: number) => number, start: number): number {
  const numbers = args.length === 1 && isList(args[0]) ? args[0] : args
  run.spend(numbers.length)
  return numbers.reduce<number>((best, value) => better(best, numberOf(run, value)), start)
}

/** Characters that are encoded or decoded in one step. */
const RECODED_AT_ONCE = 2
const STEPS_TO_RECODE = 24

/** Runs a conversion that fails on malformed text. `growth`: maximum factor by which the text grows. */
function recode(run: Evaluation, name: string, value: Value, growth: number, change: (text: string) => string): string {
  const text = plainText(run, value)
  run.make(text.length * growth)
  run.spend(STEPS_TO_RECODE + text.length / RECODED_AT_ONCE)
  try {
    return change(text)
  } catch {
    throw new ExpressionError(`${name}(): the text is malformed`)
  }
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeBase64(text: string): string {
  if (!BASE64.test(text)) throw new TypeError('not base64')
  return utf8.decode(Buffer.from(text, 'base64'))
}

export const functions: ReadonlyMap<string, Callable> = new Map<string, Callable>([
  ['now', (run) => run.scope.turn.now],
  ['uuid', uuid],
  ['random', random],
  ['string', (run, [value]) => plainText(run, value)],
  ['number', (run, [value]) => toNumber(run, value)],
  ['boolean', (_, [value]) => toBoolean(value)],
  ['date', toDate],
  ['json', (run, [value]) => jsonOf(run, value)],
  ['parseJson', parseJson],
  ['keys', (run, [value]) => keysOf(run, 'keys', value)],
  ['values', (run, [value]) => run.own(keysOf(run, 'values', value).map((key) => member(value, key)))],
  ['entries', entries],
  ['size', (run, [value]) => size(run, value)],
  ['min', (run, args) => extreme(run, args, Math.min, Infinity)],
  ['max', (run, args) => extreme(run, args, Math.max, -Infinity)],
  ['abs', (run, [value]) => Math.abs(numberOf(run, value))],
  ['round', (run, [value]) => Math.round(numberOf(run, value))],
  ['floor', (run, [value]) => Math.floor(numberOf(run, value))],
  ['ceil', (run, [value]) => Math.ceil(numberOf(run, value))],
  // Encodes a component of a URI: every character with a special meaning is escaped.
  ['encodeUri', (run, [value]) => recode(run, 'encodeUri', value, 3, encodeURIComponent)],
  ['decodeUri', (run, [value]) => recode(run, 'decodeUri', value, 1, decodeURIComponent)],
  ['base64', (run, [value]) => recode(run, 'base64', value, 2, (text) => Buffer.from(text, 'utf8').toString('base64'))],
  ['fromBase64', (run, [value]) => recode(run, 'fromBase64', value, 1, decodeBase64)],
])
