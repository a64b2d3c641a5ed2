// api: the calls that do something with all contexts that match a filter.
import { z } from 'zod'
import { invalid, malformed } from '../model/failure.ts'
import { type Json, type JsonObject, isObject } from '../model/json/value.ts'
import { bytesOf } from '../model/json/weight.ts'
import { unknownErrors } from '../model/unknown-fields.ts'
import { component, describeCall, describeErrors, errorsOf, fieldSchema, fieldText } from './call.ts'
import { COMMAND_NAMES, withField } from './commands.ts'
import { contextFilters } from './context-lists.ts'
import { choice, contextId, count, id, name, object, orNull, text, time, untyped } from './fields.ts'
import { assume, dryRun } from './rehearsal.ts'

const FILTERS = {
  ...contextFilters('those that have not ended'),
  after: id('Only contexts with a higher id').optional(),
  before: id('Only contexts with a lower id').optional(),
}
const schema = z.object(FILTERS)
/** Their types in JSON Schema. */
const TYPES = new Map(Object.entries(FILTERS).map(([field, type]) => [field, fieldSchema(type)['type']]))

/**
 * Characters of a filter, about. It is stored with how far the operation is, again and again, and a list of operations
 * shows the filters of a thousand.
 */
const MAX_FILTER_CHARACTERS = 32 * 1024

export type OperationFilter = z.output<typeof schema>

export const filterField = z.custom<JsonObject>(isObject, 'must be an object: {} means all that have not ended').meta({
  type: 'object',
  additionalProperties: {
    anyOf: [
      { type: 'string' },
      { type: 'integer' },
      { type: 'boolean' },
      { type: 'array', items: { type: 'string' }, minItems: 1 },
    ],
  },
  description:
    'Which contexts: the filters of the list by name, each a text or a list of texts that is not empty; 32 KiB at most. `{}`: all unfinished contexts',
})

/**
 * @throws FluxError `malformed` for names that are not known, and values that can't be read; `invalid` if it is too
 * large
 */
export function readFilter(given: JsonObject): OperationFilter {
  if (bytesOf(given, MAX_FILTER_CHARACTERS) > MAX_FILTER_CHARACTERS) {
    const detail = `must not have more than about ${MAX_FILTER_CHARACTERS} characters`
    throw invalid(`the filter ${detail}`, [{ pointer: '/filter', detail }])
  }
  const fields = Object.entries(given)
  const errors = unknownErrors(Object.keys(given), new Map(Object.entries(FILTERS)), '/filter')
  // Without any it would be no filter at all, and what was meant for none would be done with all.
  for (const [name, value] of fields)
    if (Array.isArray(value) && value.length === 0)
      errors.push({ pointer: `/filter/${name}`, detail: 'must not be an empty list' })
  const read = schema.safeParse(Object.fromEntries(fields.map(([name, value]) => [name, plainOf(name, value)])))
  if (read.success && errors.length === 0) return read.data
  errors.push(...errorsOf(read.error?.issues ?? [], '/filter'))
  throw malformed(describeErrors(errors), errors)
}

/** As the schema takes it: a text becomes what it stands for; that of a list is separated by commas. */
function plainOf(name: string, given: Json): unknown {
  const all: readonly Json[] = Array.isArray(given) ? given : [given]
  const type = TYPES.get(name)
  if (type === 'array') return all.flatMap((one): readonly Json[] => (typeof one === 'string' ? one.split(',') : [one]))
  const [single] = all.length === 1 ? all : [given]
  return typeof single === 'string' ? fieldText(single, type) : single
}

/** Operations of a list. */
export const MAX_LISTED_OPERATIONS = 1000
/** Errors that an operation keeps. */
export const MAX_OPERATION_ERRORS = 100

export const operationAnswer = component(
  'Operation',
  z.object({
    operationId: text,
    do: z.enum(COMMAND_NAMES),
    filter: object.describe('The filter of the request'),
    status: z.enum(['running', 'done', 'stopped']),
    matched: count.describe('Contexts that matched at the start'),
    done: count.describe('Contexts that were handled: `changed` and `failed`'),
    changed: count,
    failed: count.describe('Contexts that could not be changed'),
    errors: z
      .array(z.object({ contextId, detail: text }))
      .describe(`Why contexts could not be changed: the first ${MAX_OPERATION_ERRORS} reasons`),
    startedAt: time,
    endedAt: time.nullable(),
  }),
  'operation',
)

export const OPERATION_EXAMPLE: OperationView = {
  operationId: '2rmv0d1s7-k3x9w2c8q1zt',
  do: 'event',
  filter: { fluxName: 'Order', currentState: 'WaitForPayment' },
  status: 'running',
  matched: 25_000,
  done: 4000,
  changed: 3999,
  failed: 1,
  errors: [{ contextId: 17, detail: "context 17 does not wait for 'remind'" }],
  startedAt: 1_767_225_600_000,
  endedAt: null,
}

export type OperationView = z.output<typeof operationAnswer>

/** Contexts a second, if nothing else is said. */
export const DEFAULT_RATE = 1000
/** The least: a slower operation would hold its place for years. */
export const MIN_RATE = 1
/** Contexts that a caller in process may name one by one. */
const MAX_NAMED_CONTEXTS = 1000

const matched = count.describe('Contexts that match now')

/** A number, also as text, as XML without types has it. */
const rate = z
  .custom<number | string>((given) => Number.isFinite(rateOf(given)), 'must be a number')
  .transform(rateOf)
  .meta({
    type: 'number',
    minimum: MIN_RATE,
    description: `Contexts per second, at most. Default: ${DEFAULT_RATE}`,
  })

function rateOf(given: unknown) {
  if (typeof given === 'number') return given
  return typeof given === 'string' && /^\d{1,15}(?:\.\d{1,15})?$/.test(given) ? Number(given) : NaN
}

const accepted = {
  answer: component('AcceptedOperation', z.object({ operationId: text, matched }), 'response'),
  description: 'The operation is stored, and runs',
  headers: { Location: 'URL that shows the progress' },
  example: { operationId: '2rmv0d1s7-k3x9w2c8q1zt', matched: 25_000 },
}

/** `operationId` is left out of a dry run. */
export type OperationStart = Partial<z.output<typeof accepted.answer>> & { readonly matched: number }

export const OPERATION_CALLS = {
  getOperations: describeCall({
    summary: 'Show the progress of an operation, or the last 1,000 operations, newest first',
    route: '/flux-api/operations',
    problems: [404],
    query: { operationId: name('Only this operation, and no list').optional() },
    answer: component('Operations', z.array(operationAnswer), 'operations'),
    answerExample: [OPERATION_EXAMPLE],
    one: operationAnswer,
  }),
  startOperation: describeCall({
    summary: 'Do something with all contexts that match a filter, once with each',
    method: 'POST',
    route: '/flux-api/operations',
    query: { dryRun },
    body: {
      filter: filterField,
      do: choice(COMMAND_NAMES).describe('What to do with each context, as the call of that name does'),
      with: withField,
      rate: orNull(rate),
      dryRun,
      assume,
    },
    internal: {
      untyped,
      contextIds: z
        .array(id())
        .max(MAX_NAMED_CONTEXTS, `must not have more than ${MAX_NAMED_CONTEXTS}`)
        .optional()
        .describe('Only these of the contexts that match'),
    },
    bodyExample: {
      filter: { fluxName: 'Order', currentState: 'WaitForPayment', startedBefore: '2026-01-01' },
      do: 'event',
      with: { event: 'remind', input: { level: 2 } },
      rate: 500,
    },
    answer: component('MatchedContexts', z.object({ matched }), 'response'),
    answerExample: { matched: 25_000 },
    accepted,
  }),
  /**
   * Stops an operation; gives how far it came. What it changed stays so.
   * @throws FluxError `notFound`; `conflict` when it is done
   */
  stopOperation: describeCall({
    summary: 'Stop an operation: contexts that it has not reached stay as they are',
    method: 'DELETE',
    route: '/flux-api/operations',
    problems: [404, 409],
    query: { operationId: name('Id of the operation') },
    answer: operationAnswer,
    answerExample: { ...OPERATION_EXAMPLE, status: 'stopped', endedAt: 1_767_225_604_000 },
  }),
}
