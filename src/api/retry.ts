// api: goes on with a context that failed or was terminated, or makes the next attempt of a step now.
import { z } from 'zod'
import { address, checkAddress } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import {
  contextId,
  flag,
  idempotencyKey,
  input,
  name,
  orNull,
  REPLAYED_HEADER,
  RESPONSE,
  text,
  untyped,
} from './fields.ts'

/** What a retry may be told, of one context and of many. */
export const retryFields = {
  state: orNull(name('The state to enter, as by a transition; if left out, the action of the state runs again')),
  input: input(),
  definition: orNull(
    z.enum(['pinned', 'current'], { error: 'must be pinned or current' }).meta({
      description: 'The definition to go on with: that of the context (if left out), or the one loaded now',
    }),
  ),
  newKey: orNull(flag('Whether the step gets another stepKey')),
}

export const RETRY = describeCall({
  id: 'retry',
  summary: 'Go on with a context that failed or was terminated; while a step waits for its next attempt, make it now',
  method: 'POST',
  route: '/flux-api/context/retry',
  role: 'admin',
  problems: [404, 409, 413, 415, 422, 429],
  takesKey: true,
  answerHeaders: REPLAYED_HEADER,
  query: address(),
  body: retryFields,
  internal: { untyped, idempotencyKey },
  together: checkAddress,
  content: ['state', 'input', 'key'],
  strict: true,
  answer: component('Retried', z.object({ message: text, contextId }), { xml: RESPONSE }),
  mayLackBody: true,
  bodyExample: { state: 'ChargeCard', input: { amount: 12 } },
  answerExample: { message: 'retried context 1', contextId: 1 },
})

export type RetryRequest = RequestOf<typeof RETRY>
export type RetryAnswer = AnswerOf<typeof RETRY>
