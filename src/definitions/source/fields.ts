// definitions: the kinds of values that keys of files have. null stands for what is absent.
import { z } from 'zod'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { quantityOf } from '../../model/quantity.ts'

/** An object, of which further keys may be kept for other programs. */
export const entry = <T extends z.core.$ZodLooseShape>(shape: T) => z.object(shape, { error: 'must be an object' })
/** An object in which each unknown key is a fault, since a setting without effect would be dangerous. */
export const closedEntry = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject(shape, { error: 'must be an object' })

/** A list. An entry with a fault becomes undefined, so that it hides no other, and the others keep their places. */
export const list = <T extends z.ZodType>(item: T, error = 'must be a list') =>
  z
    .array(item.optional(), { error })
    .nullish()
    .transform((given) => given ?? [])

/** What holds of a value of which the condition holds, and of another one. Entries, since `then` is no name for a key. */
export function when<T>(condition: T, holds: T, fails?: T): { readonly [keyword: string]: T } {
  const entries = [['if', condition] as const, ['then', holds] as const]
  return Object.fromEntries(fails === undefined ? entries : [...entries, ['else', fails] as const])
}

export const ANYTHING = z.unknown().optional()
export const JSON_VALUE = z.custom<Json>().optional()
export const text = z.string({ error: 'must be text' })
export const TEXT = text.nullish()
export const NAME = text.min(1, { error: 'must not be empty' })
export const COMMENT = ANYTHING.describe('Free text, which has no effect.')
export const EDITORS = ANYTHING.describe('Where editors find the JSON Schema of the file.')

export const FLAG = z.boolean({ error: 'must be true or false' }).nullish()
export const flag = (otherwise = false) => FLAG.meta({ default: otherwise }).transform((given) => given ?? otherwise)

/** One of some texts. `what`: its name in messages. */
export const oneOf = <const T extends readonly string[]>(what: string, names: T) =>
  z.enum(names, {
    error: ({ input }) =>
      typeof input === 'string' ? `unknown ${what} "${input}"${alternatives(input, names)}` : 'must be text',
  })

export const WHOLE_NUMBER = z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).nullish()

export const DAY_SECONDS = 86_400

const seconds = z.number({ error: 'must be a number of seconds' }).max(1e10, { error: 'is too long' })
const toMs = (given: number) => Math.ceil(given * 1000)
/** A number of seconds, as milliseconds. */
export const MS = seconds.min(0, { error: 'must not be negative' }).transform(toMs).nullish()
export const TIMEOUT_MS = seconds.positive({ error: 'must be greater than 0' }).transform(toMs).nullish()

const DURATION_UNITS_MS = { '': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** What a duration is, for descriptions. */
const DURATION = 'a number of seconds, or a text like "90s", "15m", "1h" or "7d"'

/** Milliseconds of a number of seconds, or of a text like "90s", "1.5h" or "7d"; NaN for what is no duration. */
function durationMsOf(given: Json) {
  if (typeof given === 'number') return Math.round(given * 1000)
  return typeof given === 'string' ? quantityOf(given, DURATION_UNITS_MS) : NaN
}

/** A duration of a second at least, as milliseconds. `most`: seconds. `orZero`: it may be 0, too. */
export const durationMs = (most: number, orZero: boolean) =>
  z
    .custom<Json>()
    .meta({
      type: ['number', 'string'],
      maximum: most,
      pattern: '^\\d+(\\.\\d+)?[smhdSMHD]?$',
      errorMessage: `must be ${DURATION}`,
      examples: ['90s', '15m', '1h', '7d'],
    })
    .transform(durationMsOf)
    .refine((ms) => (orZero && ms === 0) || (ms >= 1000 && ms <= most * 1000), {
      error: `must be 1 second to ${most / DAY_SECONDS} days, as ${DURATION}${orZero ? '; or 0' : ''}`,
    })
    .nullish()

/** Declarations of properties, which `values/` reads. */
export const PROPERTIES = z
  .array(z.custom<JsonObject>(), { error: 'must be a list' })
  .meta({ items: { $ref: '#/$defs/property' } })
  .nullish()
  .transform((given) => given ?? [])

const isName = (segment: unknown) => typeof segment === 'string' || typeof segment === 'number'

/** The names of a path. Numbers become text. */
export const PATH = z
  .custom<readonly (string | number)[]>((given) => Array.isArray(given) && given.length > 0 && given.every(isName), {
    error: 'must be a path: a list of names that is not empty',
  })
  .meta({ type: 'array', minItems: 1, items: { type: ['string', 'number'] } })
  .transform((path) => path.map(String))
