// api: ends a context at once.
import { z } from 'zod'
import { address, checkAddress } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { idempotencyKey, REPLAYED_HEADER, RESPONSE, text } from './fields.ts'

export const messageAnswer = component('Message', z.object({ message: text }), { xml: RESPONSE })

export const TERMINATE = describeCall({
  id: 'terminate',
  summary: 'End a context at once',
  method: 'DELETE',
  route: '/flux-api/terminate',
  role: 'invoke',
  problems: [404, 409, 422, 429],
  takesKey: true,
  answerHeaders: REPLAYED_HEADER,
  query: address(),
  internal: { idempotencyKey },
  together: checkAddress,
  content: ['key'],
  answer: messageAnswer,
  answerExample: { message: 'terminated context 1' },
})

export type ContextRequest = RequestOf<typeof TERMINATE>
export type MessageAnswer = AnswerOf<typeof TERMINATE>
