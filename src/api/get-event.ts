// api: tells what became of an event.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextId, eventKey, name, text, time } from './fields.ts'
import { ignoredEntry, pendingEntry } from './send-event.ts'

const count = z.number().int().nonnegative()
const stand = z.object({ contextId, state: text, at: time })
const ended = z.object({ contextId: contextId.nullable(), at: time })

const receiptAnswer = component(
  'Receipt',
  z.object({
    eventId: text,
    event: text,
    receivedAt: time,
    repeated: count.meta({ description: 'How often it was sent again' }),
    moved: z.array(stand).meta({ description: 'Whom it moved: the newest 1,000' }),
    started: z.array(stand).meta({ description: 'Whom it started' }),
    ignored: z.array(ignoredEntry),
    pending: z.array(pendingEntry),
    expired: z.array(ended.extend({ reason: text })),
    withdrawn: z.array(ended),
    counts: z
      .object({ moved: count, started: count, ignored: count, pending: count, expired: count, withdrawn: count })
      .meta({ description: 'How many there are of each' }),
    done: z.boolean().meta({ description: 'False: it is still being sent to those that it is for' }),
  }),
  { xml: { name: 'receipt' } },
)

export const RECEIPT_EXAMPLE: z.output<typeof receiptAnswer> = {
  eventId: 'order-17-paid',
  event: 'approve',
  receivedAt: 1_767_225_600_000,
  repeated: 0,
  moved: [{ contextId: 1, state: 'Approved', at: 1_767_225_600_000 }],
  started: [],
  ignored: [],
  pending: [],
  expired: [],
  withdrawn: [],
  counts: { moved: 1, started: 0, ignored: 0, pending: 0, expired: 0, withdrawn: 0 },
  done: true,
}

export const GET_EVENT = describeCall({
  id: 'getEvent',
  summary: 'Show what became of an event that was sent with an eventId, an Idempotency-Key, or receipt: true',
  method: 'GET',
  route: '/flux-api/event',
  role: 'read',
  problems: [404],
  query: {
    eventId: eventKey('Id of the event'),
    scope: name(
      'Name of the token with which it was sent, or `nobody`; for admins. Left out: the one of this request',
    ).optional(),
  },
  strict: true,
  answer: receiptAnswer,
  answerExample: RECEIPT_EXAMPLE,
})

export type GetEventRequest = RequestOf<typeof GET_EVENT>
export type Receipt = AnswerOf<typeof GET_EVENT>
