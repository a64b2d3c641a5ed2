// api: lists events that are kept until a context waits for them, by arrival, page by page.
import { z } from 'zod'
import { address, checkAddressIfAny } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextId, countField, name, tags, text, time } from './fields.ts'

const DEFAULT_LIMIT = 30
/** A page never has more events. */
const MAX_LIMIT = 1000

/** Matches to pass over behind a row, and the key of that row. */
const CURSOR = /^\d{1,15}:.{1,1000}$/s

export const pendingView = component(
  'PendingEvent',
  z.object({
    eventId: text,
    event: text,
    contextId: contextId.nullable().meta({ description: 'Who keeps it; null: it is for the first that waits for it' }),
    fluxName: text.nullable(),
    tags: z.array(text),
    receivedAt: time,
    expiresAt: time.nullable().meta({ description: 'Epoch milliseconds; null: when the context ends' }),
  }),
)

export const LIST_PENDING = describeCall({
  id: 'listPending',
  summary: 'List events that are kept until a context waits for them; the Link header has the URL of the next page',
  method: 'GET',
  route: '/flux-api/events/pending',
  role: 'read',
  problems: [404, 409, 422],
  query: {
    ...address('Only events that this context keeps'),
    event: name('Only events of this name').optional(),
    tag: tags('Only events with all of these tags. Repeat the parameter, or separate by commas').optional(),
    limit: countField(1, `${DEFAULT_LIMIT} if left out; above ${MAX_LIMIT} means ${MAX_LIMIT}`)
      .transform((limit) => Math.min(limit, MAX_LIMIT))
      .default(DEFAULT_LIMIT),
    page: countField(0, '0, the first, if left out')
      .refine((page) => Number.isSafeInteger(page * MAX_LIMIT), { error: 'is too large' })
      .default(0),
    after: z
      .custom<string>((value) => typeof value === 'string' && CURSOR.test(value), {
        error: 'must be taken from the URL of a next page',
      })
      .meta({ type: 'string', description: 'Where the page begins, as the URL of a next page has it' })
      .optional(),
  },
  together: checkAddressIfAny,
  content: ['tag', 'key'],
  strict: true,
  answer: component('PendingEvents', z.array(pendingView), { xml: { name: 'pendingEvents' } }),
  answerExample: [
    {
      eventId: 'order-17-paid',
      event: 'paid',
      contextId: null,
      fluxName: null,
      tags: ['order-17'],
      receivedAt: 1_767_225_600_000,
      expiresAt: 1_767_229_200_000,
    },
  ],
  answerHeaders: { Link: 'URL of the next page, with rel="next"; absent on the last page' },
})

export type PendingRequest = RequestOf<typeof LIST_PENDING>
export type PendingView = AnswerOf<typeof LIST_PENDING>[number]

/** One page of a list. It may have fewer events than asked for, and even none, although there are more. */
export interface PendingPage {
  readonly events: PendingView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: string | null
}
