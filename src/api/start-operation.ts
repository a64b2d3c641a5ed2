// api: does something with all contexts that match a filter.
import { z } from 'zod'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { flag, id, orNull, RESPONSE, text, untyped } from './fields.ts'
import { DEED_NAMES, withField } from './operation-deeds.ts'
import { filterField } from './operation-filter.ts'

/** Contexts a second, if nothing else is said. */
export const DEFAULT_RATE = 1000
/** Contexts that a caller in process may name one by one. */
const MAX_NAMED_CONTEXTS = 1000

const matched = z.number().int().nonnegative().meta({ description: 'Contexts that match now' })

/** A number, also as text, as XML without types has it. */
const rate = z
  .custom<number | string>((given) => Number.isFinite(rateOf(given)) && rateOf(given) > 0, {
    error: 'must be a number above 0',
  })
  .transform(rateOf)
  .meta({
    type: 'number',
    exclusiveMinimum: 0,
    description: `Contexts a second, at most; ${DEFAULT_RATE} if left out`,
  })

function rateOf(given: unknown): number {
  if (typeof given === 'number') return given
  return typeof given === 'string' && /^\d{1,15}(?:\.\d{1,15})?$/.test(given) ? Number(given) : NaN
}

const accepted = {
  answer: component('AcceptedOperation', z.object({ operationId: text, matched }), { xml: RESPONSE }),
  description: 'It is stored, and is carried out',
  headers: { Location: 'Where it shows how far it is' },
  example: { operationId: '2rmv0d1s7-k3x9w2c8q1zt', matched: 25_000 },
}

export const START_OPERATION = describeCall({
  id: 'startOperation',
  summary: 'Do something with all contexts that match a filter, once with each',
  method: 'POST',
  route: '/flux-api/operations',
  role: 'invoke',
  problems: [413, 415, 422],
  body: {
    filter: filterField,
    do: z.enum(DEED_NAMES, { error: `must be one of ${DEED_NAMES.join(', ')}` }).meta({
      description: 'What is done with each: the call of that name for one context',
    }),
    with: withField,
    rate: orNull(rate),
    dryRun: orNull(flag('Only counts the contexts: answered with 200')),
  },
  internal: {
    untyped,
    contextIds: z
      .array(id())
      .max(MAX_NAMED_CONTEXTS, { error: `must not have more than ${MAX_NAMED_CONTEXTS}` })
      .optional()
      .meta({ description: 'Only these of the contexts that match' }),
  },
  content: ['with', 'filter'],
  strict: true,
  bodyExample: {
    filter: { fluxName: 'Order', currentState: 'WaitForPayment', startedBefore: '2026-01-01' },
    do: 'event',
    with: { event: 'remind', input: { level: 2 } },
    rate: 500,
  },
  answer: component('MatchedContexts', z.object({ matched }), { xml: RESPONSE }),
  answerExample: { matched: 25_000 },
  accepted,
})

export type OperationRequest = RequestOf<typeof START_OPERATION>
/** `operationId` is left out of a dry run. */
export type OperationStart = Partial<z.output<typeof accepted.answer>> & { readonly matched: number }
