// api: the calls that list the endpoints of webhooks and their deliveries, and send one again.
import { z } from 'zod'
import { WEBHOOK_SCHEME_NAMES } from '../model/webhook-schemes/scheme.ts'
import { NO_DELIVERIES } from '../model/webhook.ts'
import { type AnswerOf, type RequestOf, component, describeCall } from './call.ts'
import { PAGE, choice, contextId, count, cursor, integer, name, object, text, time } from './fields.ts'

const byOutcome = z.object({
  accepted: count,
  duplicate: count,
  filtered: count,
  handshake: count,
  ignored: count,
  invalid: count,
  'signature-invalid': count,
  failed: count,
  timeout: count,
  refused: count,
})

const counts = component('DeliveryCounts', byOutcome, {
  description: 'Deliveries to the service and path by outcome, since this server started',
})

const outcomes = byOutcome.keyof()
export const DELIVERY_OUTCOMES = outcomes.options

/** What is shown of a delivery besides its request. */
export const deliveryFields = {
  deliveryId: text,
  method: text,
  time: time.describe('When the request arrived, epoch milliseconds'),
  outcome: component('DeliveryOutcome', outcomes),
  status: count.nullable().describe('Status of the answer; null: it is not answered yet, or never was'),
  duration: count.nullable().describe('Milliseconds from the arrival to the answer'),
  contextId: contextId.nullable(),
  replayOf: text.nullable().describe('The delivery that this one replays'),
  reason: text
    .nullable()
    .describe(
      'Why it was not accepted, or a remark. If the webhook has `verify`, it is shown only to tokens with the role `read`, except for `signature-invalid`',
    ),
}

const lastDelivery = component('LastDelivery', z.object(deliveryFields))

const webhook = component(
  'Webhook',
  z.object({
    urlPath: text,
    httpMethods: z.array(text),
    package: text,
    fluxName: text,
    name: text.nullable(),
    scheme: text.nullable().describe(`How requests are verified: ${WEBHOOK_SCHEME_NAMES.join(', ')}; null: not at all`),
    counts,
    last: lastDelivery.nullable(),
  }),
)

/** Matches to pass over behind a delivery, and the id of that delivery. */
const CURSOR = /^\d{1,15}:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

const { deliveryId, ...facts } = deliveryFields

const delivery = component(
  'Delivery',
  z.object({
    deliveryId,
    urlPath: text,
    ...facts,
    request: object
      .nullable()
      .describe(
        'The request, as the service sees it, without secrets; null: it did not pass verification, or can not be read, or the webhook has `verify` and the caller no token with the role `read`. Of a body above 64 KB it has the beginning as text, and `bodyTruncated: true`',
      ),
  }),
)

/** One page of a list. It may have fewer deliveries than asked for, and even none, although there are more. */
export interface DeliveryPage {
  readonly deliveries: DeliveryView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: string | null
}

const EXAMPLE_ID = '019b76da-a800-7000-8000-00005f2c1e6d'
const DELIVERY_EXAMPLE = {
  method: 'POST',
  time: 1_767_225_600_000,
  outcome: 'accepted',
  status: 202,
  duration: 3,
  contextId: 17,
  replayOf: null,
  reason: null,
}

export const WEBHOOK_CALLS = {
  /** The endpoints of webhooks, with the counts of this server's deliveries. */
  listWebhooks: describeCall({
    summary: 'List the endpoints of webhooks, with the counts of their deliveries and the last one',
    route: '/flux-api/webhooks',
    answer: component('Webhooks', z.array(webhook), 'webhooks'),
    answerExample: [
      {
        urlPath: '/stripe',
        httpMethods: ['POST'],
        package: 'shop',
        fluxName: 'Payment',
        name: null,
        scheme: 'stripe',
        counts: { ...NO_DELIVERIES, accepted: 17, duplicate: 2, filtered: 240, 'signature-invalid': 1 },
        last: {
          deliveryId: EXAMPLE_ID,
          ...DELIVERY_EXAMPLE,
          outcome: 'signature-invalid',
          status: 401,
          duration: 1,
          contextId: null,
          reason: 'no signature fits',
        },
      },
    ],
  }),
  listDeliveries: describeCall({
    summary: 'List deliveries to webhooks, newest first; the Link header has the URL of the next page',
    route: '/flux-api/webhooks/deliveries',
    query: {
      urlPath: name('Only deliveries to this path, as written in the file').optional(),
      outcome: choice(DELIVERY_OUTCOMES).optional().describe('Only deliveries with this outcome'),
      ...PAGE,
      after: cursor(CURSOR),
    },
    answer: component('Deliveries', z.array(delivery), 'deliveries'),
    answerExample: [
      {
        deliveryId: EXAMPLE_ID,
        urlPath: '/stripe',
        ...DELIVERY_EXAMPLE,
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
  }),
  /**
   * Sends a delivery again, without verification, and although it is a repeat. Resolves when its sender would have got
   * the answer.
   * @throws FluxError `notFound`; `conflict` when its request, or a part of it, is not kept
   */
  replayDelivery: describeCall({
    summary: 'Send a delivery again, without verification and deduplication',
    method: 'POST',
    route: '/flux-api/webhooks/deliveries/replay',
    problems: [404, 409],
    query: { deliveryId: name('Id of the delivery') },
    answer: component(
      'Replay',
      z.object({
        deliveryId: text.describe('Id of the new delivery'),
        status: integer.describe('The status that its sender would have received'),
        contextId: contextId.nullable(),
      }),
      'response',
    ),
    answerExample: { deliveryId: '019b76da-a801-7000-8000-00005f2c1e6d', status: 202, contextId: 18 },
  }),
}

export type WebhookView = AnswerOf<typeof WEBHOOK_CALLS.listWebhooks>[number]
export type DeliveriesRequest = RequestOf<typeof WEBHOOK_CALLS.listDeliveries>
export type DeliveryView = AnswerOf<typeof WEBHOOK_CALLS.listDeliveries>[number]
