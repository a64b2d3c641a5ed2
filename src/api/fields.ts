// api: schemas of the fields of requests and answers. `description` and other metadata appear in the OpenAPI document.
import { z } from 'zod'
import type { ContextId } from '../model/context.ts'
import { isObject, type Json, type JsonObject } from '../model/json/value.ts'
import { keyFault, MAX_KEY_BYTES } from '../model/key.ts'
import { type Issues, component, refuse } from './call.ts'

// Fields of requests. Each has its own error message, and none changes the value that it checks.

/** The message about a field that is absent, or else wrong. */
const requiredOr = (wrong: string) => ({
  error: ({ input }: { readonly input?: unknown }) => (input === undefined ? 'is required' : wrong),
})

/** A field that may be left out; null means the same. */
export const orNull = <T extends z.ZodType>(type: T) => type.nullish()

/** A text that is not empty. */
export const name = (description: string) =>
  z
    .custom<string>(
      (value) => typeof value === 'string' && value !== '',
      requiredOr('must be a text that is not empty'),
    )
    .meta({ type: 'string', minLength: 1, description })

export const id = (description = 'Id of a context') =>
  z
    .custom<ContextId>(
      (value) => Number.isSafeInteger(value) && Number(value) > 0,
      requiredOr('must be a positive integer below 2^53'),
    )
    .meta({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

/** In the schema of a text: it is taken as it is, also where white space around texts does not matter. */
export const AS_IT_IS = 'x-as-it-is'

/** A key of a context. */
export const contextKey = (description: string) =>
  z
    .string('must be a text')
    .superRefine((key, { addIssue }) => {
      const fault = keyFault(key)
      if (fault !== null) addIssue(fault)
    })
    .meta({ [AS_IT_IS]: true, minLength: 1, maxLength: MAX_KEY_BYTES, description })

/** An integer of at least `minimum`. */
export const countField = (minimum: number, description: string) =>
  z
    .custom<number>(
      (value) => Number.isInteger(value) && Number(value) >= minimum,
      minimum === 1 ? 'must be a positive integer' : `must be an integer, ${minimum} or more`,
    )
    .meta({ type: 'integer', minimum, description })

/** Entries of a page of a list, if the request does not say. */
const DEFAULT_LIMIT = 30
/** Entries of a page at most. */
const MAX_LIMIT = 1000

/** Which page of a list. */
export const PAGE = {
  limit: countField(1, `${DEFAULT_LIMIT} if left out; above ${MAX_LIMIT} means ${MAX_LIMIT}`)
    .transform((limit) => Math.min(limit, MAX_LIMIT))
    .default(DEFAULT_LIMIT),
  page: countField(0, '0, the first, if left out')
    .refine((page) => Number.isSafeInteger(page * MAX_LIMIT), 'is too large')
    .default(0),
}

/** The place of a list where a page begins. `pattern`: what such a place looks like. */
export const cursor = (pattern: RegExp) =>
  z
    .custom<string>(
      (value) => typeof value === 'string' && pattern.test(value),
      'must be taken from the URL of a next page',
    )
    .meta({ type: 'string', description: 'Where the page begins, taken from the URL of the next page' })
    .optional()

export const flag = (description: string) => z.boolean('must be true or false').describe(description)

/** For lines of a stream, which wait where other calls are refused. */
export const waits = flag('What is full takes it all the same: its sender bounds how many there are').optional()

/** In the schema of a list: its parameter isn't separated by commas. */
export const NOT_SEPARATED = 'x-not-separated'

/** The limits for tags depend on the server's settings and are checked by the engine. */
export const tags = (description: string) =>
  z
    .custom<readonly string[]>(Array.isArray, requiredOr('must be a list of texts'))
    .meta({ type: 'array', items: { type: 'string' }, description })

/** One of these. */
export const choice = <const T extends readonly string[]>(values: T) => z.enum(values, mustBeOneOf(values))

export const mustBeOneOf = (values: readonly string[]): string =>
  values.length > MOST_IN_WORDS
    ? `must be one of ${values.join(', ')}`
    : `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`

const MOST_IN_WORDS = 3

/** Texts with a parameter each, so they may contain commas. */
export const repeated = (description: string) =>
  z
    .array(name(description), 'must be a list of texts')
    .readonly()
    .meta({ [NOT_SEPARATED]: true, description })
    .optional()

export const bodyTags = orNull(tags('Texts of at most 256 bytes, without commas'))

/** An object that is passed on as it is, without a copy: any key in it is data. */
export const objectField = (description: string) =>
  orNull(
    z
      .custom<JsonObject>(isObject, 'must be an object')
      .meta({ type: 'object', additionalProperties: true, description }),
  )

export const input = objectField('Inputs by name')

/** Visible ASCII, as in the header `Idempotency-Key`. */
const SENT_KEY = /^[!-~]{1,255}$/
/** With spaces between: that of a CloudEvent is its `source` and its `id`. */
const EVENT_ID = /^[!-~](?:[ -~]{0,253}[!-~])?$/

const visible = (pattern: RegExp, description: string) =>
  z
    .custom<string>(
      (value) => typeof value === 'string' && pattern.test(value),
      'must be 1 to 255 visible ASCII characters',
    )
    .meta({ type: 'string', minLength: 1, maxLength: 255, description })

/** A key, or the id of an event, that a sender chooses. @param description what it is of */
export const sentKey = (description: string) => visible(SENT_KEY, description)

/** The id by which an event is known; that of a CloudEvent has spaces. @param description what it is of */
export const knownEventId = (description: string) => visible(EVENT_ID, description)

/** In process alone: HTTP has the header `Idempotency-Key`. */
export const idempotencyKey = orNull(sentKey('Key under which the call is carried out once'))

/** Only for callers in process: over HTTP, the format of the body decides it. */
export const untyped = flag('Texts in `input` may stand for the type declared, as in XML without types').optional()

/** The forms of a moment: epoch milliseconds, and ISO 8601. */
const EPOCH = /^-?\d{1,16}$/
/** In a query, a `+` that was not escaped has become a space. */
const ISO = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?([Zz]|[+\- ]\d\d(?::?\d\d)?)?)?$/
/** The latest and, negated, the earliest time of a `Date`. */
const MAX_MS = 8.64e15

/** Epoch milliseconds; without a zone it is UTC. Null: it names no moment. */
export function momentOf(given: unknown): number | null {
  if (typeof given === 'number') return Number.isInteger(given) && Math.abs(given) <= MAX_MS ? given : null
  if (typeof given !== 'string') return null
  if (EPOCH.test(given)) return momentOf(Number(given))
  const [, day, minute = '00:00', second = '00', fraction = '', zone = 'Z'] = ISO.exec(given) ?? []
  if (day === undefined) return null
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // `Date` takes the 30th of February for a day of March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return null
  const time = Date.parse(`${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zoneOf(zone)}`)
  return Number.isNaN(time) ? null : time
}

function zoneOf(zone: string) {
  if (zone === 'Z' || zone === 'z') return 'Z'
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  return `${zone.startsWith('-') ? '-' : '+'}${digits.slice(0, 2)}:${digits.slice(2)}`
}

/** A moment in time. */
export const moment = (description: string) =>
  z
    .custom<number | string>(
      (given) => momentOf(given) !== null,
      'must be a time, as epoch milliseconds or in ISO 8601',
    )
    .transform((given) => momentOf(given) ?? 0)
    .optional()
    .meta({ type: ['integer', 'string'], description: `${description}: epoch milliseconds, or ISO 8601` })

// How a call names a context: by its id, or by its key, together with its service.

/** Fields of a request. `checkAddress` checks which of them must be there. */
export const address = (described = 'Id of the context. Or give key and fluxName') => ({
  contextId: id(described).optional(),
  key: contextKey('Key of the context: names the unfinished context of that key, else the newest').optional(),
  fluxName: name('The service of the key').optional(),
  package: name('The package of that service, if several have a service of that name').optional(),
})

/** A context, as calls name it. */
export type Address = z.output<z.ZodObject<ReturnType<typeof address>>>

type Check = (fields: Address, issues: Issues) => void

/** A context must be named, and in one way. */
export const checkAddress: Check = (fields, issues) => {
  if (fields.contextId === undefined && fields.key === undefined)
    refuse(issues, 'contextId', 'is required (or key with fluxName)')
  checkAddressIfAny(fields, issues)
}

/** A context may be named, in one way. */
export const checkAddressIfAny: Check = ({ contextId, key, fluxName, package: owner }, issues) => {
  if (key === undefined && fluxName === undefined && owner === undefined) return
  if (key === undefined) refuse(issues, 'key', 'must be given with fluxName and package')
  else if (contextId !== undefined) refuse(issues, 'contextId', 'must not be given beside key')
  else if (fluxName === undefined) refuse(issues, 'fluxName', 'must be given with key')
}

// Fields of answers. They are not checked at run time; the tests validate real answers against them.

export const text = z.string()
export const integer = z.number().int()
export const count = integer.nonnegative()
export const time = integer.describe('Epoch milliseconds')
export const contextId = integer.positive()
export const data = z.custom<Json>().describe('Any JSON')
export const object = z.custom<JsonObject>().meta({ type: 'object', additionalProperties: true })

/** Declared properties with their values. */
export const model = component(
  'Model',
  z.object({
    name: text,
    type: z.literal('model'),
    allowExtraProperties: z.boolean(),
    gloopProperties: z.array(object).describe('The properties as declared, each with its value'),
  }),
)

/** The answer of calls that change something, and have no more to say. */
export const messageAnswer = component('Message', z.object({ message: text }), 'response')
export type MessageAnswer = z.output<typeof messageAnswer>
