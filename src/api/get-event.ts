// api: shows what became of an event.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextId, knownEventId, name, text, time } from './fields.ts'
import { ignoredEntry, pendingEntry } from './send-event.ts'

const count = z.number().int().nonnegative()
const stand = z.object({ contextId, state: text, at: time })
const ended = z.object({ contextId: contextId.nullable(), at: time })

export const receiptAnswer = component(
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
    progress: z
      .object({
        matched: count.meta({ description: 'Contexts that waited for it' }),
        done: count.meta({ description: 'Those of them that it was sent to' }),
        moved: count,
        started: count,
        ignored: count,
      })
      .exactOptional()
      .meta({
        description:
          'Of an event that was answered with 202. It was stopped if it is done and `done` is less than `matched`',
      }),
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
  progress: { matched: 1, done: 1, moved: 1, started: 0, ignored: 0 },
}

/** An event, as it is named when it was sent. */
export interface NamedEvent {
  readonly eventId?: string | undefined
  readonly source?: string | undefined
  readonly id?: string | undefined
}

/** Fields that name an event. What there must be of them, `checkEventName` checks. */
export const eventName = {
  eventId: knownEventId('Id of the event; or else source and id of the CloudEvent that it was').optional(),
  source: name('The source of the CloudEvent').optional(),
  id: name('The id of the CloudEvent').optional(),
  scope: name(
    'Name of the token with which it was sent, or `nobody`; for admins. Left out: the one of this request',
  ).optional(),
}

/** An event must be named, and in one way. */
export function checkEventName(
  { eventId, source, id }: NamedEvent,
  issues: { addIssue(issue: { code: 'custom'; message: string; path: string[] }): void },
): void {
  const add = (field: keyof NamedEvent, message: string) => issues.addIssue({ code: 'custom', message, path: [field] })
  if (source === undefined && id === undefined) {
    if (eventId === undefined) add('eventId', 'must be 1 to 255 visible ASCII characters')
  } else if (eventId !== undefined) add('eventId', 'must not be given beside source and id')
  else if (source === undefined) add('source', 'must be given with id')
  else if (id === undefined) add('id', 'must be given with source')
}

export const GET_EVENT = describeCall({
  id: 'getEvent',
  summary: 'Show what became of an event that was sent with an eventId, an Idempotency-Key, or receipt: true',
  method: 'GET',
  route: '/flux-api/event',
  role: 'read',
  problems: [404],
  query: eventName,
  together: checkEventName,
  strict: true,
  answer: receiptAnswer,
  answerExample: RECEIPT_EXAMPLE,
})

export type GetEventRequest = RequestOf<typeof GET_EVENT>
export type Receipt = AnswerOf<typeof GET_EVENT>
