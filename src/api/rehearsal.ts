// api: rehearsals: what a call would do to the contexts as they are, while nothing happens. A call that can be rehearsed
// takes `dryRun` in its query, and what is to be assumed in its body.
import { z } from 'zod'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { isObject, type Json } from '../model/json/value.ts'
import { component } from './call.ts'
import { contextAnswer } from './contexts.ts'
import { contextId, count, countField, data, flag, integer, moment, orNull, text, time } from './fields.ts'

/** In the query of a call. */
export const dryRun = orNull(flag('')).describe(
  'Whether to only rehearse the call: nothing happens, and the answer says what would, in `would`',
)

/** How an attempt of a step is assumed to end. */
export type AssumedOutcome =
  | { readonly result: Json }
  | { readonly error: { readonly type?: string | undefined; readonly message?: string | undefined } }

/** No schema: a body may have very many, and a fault for each. */
function isOutcome(given: unknown): given is AssumedOutcome {
  if (!isObject(given) || Object.keys(given).length !== 1) return false
  const { result, error } = given
  if (!isObject(error)) return result !== undefined
  const { type = '', message = '', ...others } = error
  return typeof type === 'string' && typeof message === 'string' && Object.keys(others).length === 0
}

const outcomes = z
  .custom<readonly AssumedOutcome[]>(
    (given) => Array.isArray(given) && given.length > 0 && given.every(isOutcome),
    'must be a list of { result } or { error: { type, message } }',
  )
  .meta({ type: 'array', items: { type: 'object' }, minItems: 1 })

const assumed = z.strictObject({
  steps: z
    .record(text, outcomes)
    .optional()
    .describe('By state: how each attempt of its step ends, in order; the last one stays. For a child: its outputs'),
  now: moment('The time that is assumed'),
  until: moment('Wake-ups up to then are taken, each at its time'),
  random: z.union([text, z.number()]).optional().describe('Seed of random numbers'),
})

/** In the body of a call. */
export const assume = orNull(assumed).describe(
  'For a rehearsal: what is assumed. Without an outcome of a step, it ends where the step would start',
)

export type Assumptions = z.output<typeof assumed>

/** In process alone: HTTP has the header `If-Match`. */
export const version = z
  .union([z.literal('*'), countField(1, '')])
  .optional()
  .describe('The version that the context must have; `*`: any. Else the call is refused as `versionMismatch`')

const started = z.object({
  state: text,
  kind: text,
  className: text.nullable(),
  methodName: text.nullable(),
  arguments: data,
  assumed: z.boolean().describe('Whether its outcome was assumed'),
})

const would = component(
  'Would',
  z.object({
    contextId: contextId.nullable().describe('null: it would be started'),
    package: text,
    fluxName: text,
    key: text.nullable(),
    version: integer.nullable().describe('The version that the rehearsal began with; null: it would be started'),
    from: text.nullable().describe('The state before; null: it would be started'),
    to: text,
    entered: z.array(text).describe('The states that it would enter, in order'),
    status: z.enum(CONTEXT_STATUSES),
    nextRun: time.nullable(),
    error: contextAnswer.shape.error,
    changed: z
      .array(z.object({ pointer: text, from: data, to: data, cut: z.literal(true).exactOptional() }))
      .describe(
        'What the view would show otherwise: `/input/…`, `/output/…`, `/states/<name>/…`, `/tags`; 200 at most',
      ),
    steps: z.array(started).describe('The attempts of steps that would start'),
    children: z.array(z.object({ package: text, fluxName: text, input: data })),
    child: z
      .object({ contextId: contextId.nullable(), fluxName: text, state: text })
      .exactOptional()
      .describe('The child that it would wait for'),
    onEnd: text.nullable().describe('The URL that its end would be sent to'),
    stopped: z.literal('moves').exactOptional().describe('The rehearsal ended here, since it had made 10,000 moves'),
  }),
)

export type Would = z.output<typeof would>

/** Contexts that an answer shows. */
export const MAX_SHOWN = 100
/** Contexts that a rehearsal of a call to many goes through. */
export const MAX_SAMPLED = 10_000

const facts = z.object({
  dryRun: z.literal(true),
  matched: count.exactOptional().describe('Of a call to many: `wouldMove`, `wouldStart` and `wouldIgnore` together'),
  wouldMove: count.exactOptional(),
  wouldStart: count.exactOptional(),
  wouldIgnore: count.exactOptional(),
  sampled: z.literal(true).exactOptional().describe(`There are more: the first ${MAX_SAMPLED} were rehearsed`),
  would: z.array(would).describe(`What would become of the contexts; of a call to many, the first ${MAX_SHOWN}`),
})

/** The answer of a call that was rehearsed, besides that of the call. */
export const rehearsalAnswer = component('Rehearsal', facts.loose(), {
  xml: { name: 'response' },
  description: 'With `dryRun`: the answer of the call, where the contexts that it would start have no id',
})

/** The answer of a call that can be rehearsed. Of a start that was rehearsed, `contextId` is null. */
export type Rehearsed<A> = A & Partial<z.output<typeof facts>>
