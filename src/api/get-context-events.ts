// api: shows which events a context can take now, with the schemas of their inputs, and what happens if none comes.
import { z } from 'zod'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { address, checkAddress } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextId, text, time } from './fields.ts'
import { jsonSchema } from './get-service-schema.ts'

export const GET_CONTEXT_EVENTS = describeCall({
  id: 'getContextEvents',
  summary: 'Show which events a context can take now',
  method: 'GET',
  route: '/flux-api/context/events',
  role: 'read',
  problems: [404, 409, 422],
  together: checkAddress,
  content: ['key'],
  query: address(),
  answer: component(
    'ContextEvents',
    z.object({
      contextId,
      state: text,
      status: z.enum(CONTEXT_STATUSES).meta({ xsd: { type: 'status' } }),
      events: z
        .array(z.object({ event: text, to: text, input: jsonSchema }))
        .meta({ description: 'What it can take now, by name, and the state that follows' }),
      else: jsonSchema.nullable().meta({ description: 'The input of any other event, if it can take any; else null' }),
      timed: z
        .object({ at: time, to: text, event: text.nullable() })
        .nullable()
        .meta({ description: 'Where it goes, and when, if no event comes; null: it waits for as long as it takes' }),
      others: z
        .array(z.object({ event: text, states: z.array(text), reason: text }))
        .meta({ description: 'The other events of the definition, the states that name them, and why not now' }),
      paused: z.literal(true).exactOptional().meta({ description: 'It keeps what it is sent until it is resumed' }),
    }),
    { xml: { name: 'contextEvents' } },
  ),
  answerExample: {
    contextId: 1,
    state: 'WaitForDecision',
    status: 'WAITING_UNTIL',
    events: [
      {
        event: 'approve',
        to: 'Approved',
        input: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: { by: { type: ['string', 'null'] } },
          required: ['by'],
        },
      },
    ],
    else: null,
    timed: { at: 1795222000000, to: 'TimedOut', event: null },
    others: [{ event: 'appeal', states: ['Rejected'], reason: 'is taken in Rejected' }],
  },
})

export type ContextEventsRequest = RequestOf<typeof GET_CONTEXT_EVENTS>
export type ContextEventsView = AnswerOf<typeof GET_CONTEXT_EVENTS>
