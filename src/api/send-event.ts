// api: sends an event to one context, or to all that wait for it.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { bodyTags, contextId, id, input, name, RESPONSE, text, untyped } from './fields.ts'

/** Limit for event names, since answers repeat the name. */
const MAX_EVENT_CHARACTERS = 1000

const event = name('Name of the event')
  .refine((given) => !given.startsWith('$'), { error: 'must not begin with $' })
  .refine((given) => given.length <= MAX_EVENT_CHARACTERS, {
    error: `must not have more than ${MAX_EVENT_CHARACTERS} characters`,
  })
  .meta({ type: 'string', minLength: 1, description: 'Name of the event' })

const contextState = z.object({ contextId, state: text })

export const SEND_EVENT = describeCall({
  id: 'sendEvent',
  summary: 'Send an event to one context, or to all that wait for it',
  method: 'POST',
  route: '/flux-api/event',
  role: 'invoke',
  problems: [404, 409, 413, 415, 422, 429],
  query: { contextId: id('Id of the context that the event is for; all that wait for it, if left out').optional() },
  body: {
    contextId: id('Id of the context that the event is for, here or in the query').optional(),
    event,
    input: input(),
    tags: bodyTags(),
  },
  internal: { untyped },
  content: ['input', 'tags'],
  strict: true,
  answer: component(
    'EventResult',
    z.object({
      message: text,
      transitions: z.array(contextState).meta({ description: 'Contexts that the event moved' }),
      executions: z.array(contextState).meta({ description: 'Contexts that the event started' }),
      ignored: z
        .array(
          z
            .object({ contextId: contextId.nullable(), fluxName: text, state: text.nullable(), reason: text })
            .meta({ xsd: { anyOrder: true } }),
        )
        .meta({
          description:
            'Contexts and services that the event was for but could not move or start; contextId and state are null for a start',
        }),
      hint: text
        .exactOptional()
        .meta({ description: 'Says that no service knows the event, and suggests the name that was probably meant' }),
    }),
    { xml: RESPONSE },
  ),
  bodyExample: { event: 'approve', input: { by: 'Ada' }, tags: ['team-7'] },
  answerExample: {
    message: "'approve': moved 1, started 0, ignored by 0",
    transitions: [{ contextId: 1, state: 'Approved' }],
    executions: [],
    ignored: [],
  },
})

export type EventRequest = RequestOf<typeof SEND_EVENT>
export type EventAnswer = AnswerOf<typeof SEND_EVENT>
