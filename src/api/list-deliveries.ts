// api: lists the deliveries to endpoints of webhooks, newest first, page by page.
import { z } from 'zod'
import { DELIVERY_OUTCOMES } from '../model/webhook.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { countField, name, object, text } from './fields.ts'
import { deliveryFields } from './list-webhooks.ts'

const DEFAULT_LIMIT = 30
/** A page never has more deliveries. */
const MAX_LIMIT = 1000

/** Matches to pass over behind a delivery, and the id of that delivery. */
const CURSOR = /^\d{1,15}:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

const { deliveryId, ...facts } = deliveryFields

const delivery = component(
  'Delivery',
  z.object({
    deliveryId,
    urlPath: text,
    ...facts,
    request: object.nullable().meta({
      description:
        'The request, as the service sees it, without secrets; null: it did not pass verification, or can not be read. Of a body above 64 KB it has the beginning as text, and `bodyTruncated: true`',
    }),
  }),
)

export const LIST_DELIVERIES = describeCall({
  id: 'listDeliveries',
  summary: 'List deliveries to webhooks, newest first; the Link header has the URL of the next page',
  method: 'GET',
  route: '/flux-api/webhooks/deliveries',
  role: 'read',
  problems: [],
  query: {
    urlPath: name('Only deliveries to this path, as written in the file').optional(),
    outcome: z
      .enum(DELIVERY_OUTCOMES, { error: `must be one of ${DELIVERY_OUTCOMES.join(', ')}` })
      .optional()
      .meta({ description: 'Only deliveries with this outcome' }),
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
  strict: true,
  answer: component('Deliveries', z.array(delivery), { xml: { name: 'deliveries' } }),
  answerExample: [
    {
      deliveryId: '019b76da-a800-7000-8000-00005f2c1e6d',
      urlPath: '/stripe',
      method: 'POST',
      time: 1_767_225_600_000,
      outcome: 'accepted',
      status: 202,
      duration: 3,
      contextId: 17,
      replayOf: null,
      reason: null,
      request: {
        method: 'POST',
        uri: '/api/stripe',
        contentType: 'application/json',
        headers: [{ name: 'Stripe-Signature', value: '[redacted]' }],
        cookies: [],
        parameters: {},
        body: { id: 'evt_1', type: 'checkout.session.completed' },
        config: { timeout: 30 },
        encoded: false,
      },
    },
  ],
  answerHeaders: { Link: 'URL of the next page, with rel="next"; absent on the last page' },
})

export type DeliveriesRequest = RequestOf<typeof LIST_DELIVERIES>
export type DeliveryView = AnswerOf<typeof LIST_DELIVERIES>[number]

/** One page of a list. It may have fewer deliveries than asked for, and even none, although there are more. */
export interface DeliveryPage {
  readonly deliveries: DeliveryView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: string | null
}
