// api: sends a delivery to a webhook again, as if its sender had repeated it.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { contextId, name, RESPONSE, text } from './fields.ts'
import { component } from './component.ts'

export const REPLAY_DELIVERY = describeCall({
  id: 'replayDelivery',
  summary: 'Send a delivery again: without verification, and although it is a repeat',
  method: 'POST',
  route: '/flux-api/webhooks/deliveries/replay',
  role: 'invoke',
  problems: [404, 409],
  query: { deliveryId: name('Id of the delivery') },
  strict: true,
  answer: component(
    'Replay',
    z.object({
      deliveryId: text.meta({ description: 'Of the new delivery' }),
      status: z.number().int().meta({ description: 'What its sender would have got' }),
      contextId: contextId.nullable(),
    }),
    { xml: RESPONSE },
  ),
  answerExample: { deliveryId: '019b76da-a801-7000-8000-00005f2c1e6d', status: 202, contextId: 18 },
})

export type ReplayRequest = RequestOf<typeof REPLAY_DELIVERY>
export type ReplayAnswer = AnswerOf<typeof REPLAY_DELIVERY>
