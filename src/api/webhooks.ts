// api: the calls that list the endpoints of webhooks and their deliveries, and send one again.
import { z } from 'zod'
import { WEBHOOK_SCHEME_NAMES } from '../model/webhook-schemes/scheme.ts'
import { DELIVERY_OUTCOMES } from '../model/webhook.ts'
import { type AnswerOf, type RequestOf, describeCall } from './call.ts'
import { component } from './component.ts'
import { RESPONSE, contextId, cursor, name, object, PAGE, text, time } from './fields.ts'

const number = z.number().int().nonnegative()

/** What is shown of a delivery besides its request. */
export const deliveryFields = {
  deliveryId: text,
  method: text,
  time: time.meta({ description: 'When the request arrived, epoch milliseconds' }),
  outcome: component('DeliveryOutcome', z.enum(DELIVERY_OUTCOMES)),
  status: number.nullable().meta({ description: 'Of the answer; null: it is not answered yet, or never was' }),
  duration: number.nullable().meta({ description: 'Milliseconds from the arrival to the answer' }),
  contextId: contextId.nullable(),
  replayOf: text.nullable().meta({ description: 'The delivery that this one repeats, by replay' }),
  reason: text.nullable().meta({
    description:
      'Why it was not accepted, or what else is to be said of it. Where the webhook has `verify`, only a token with the role `read` shows it, but for `signature-invalid`',
  }),
}

const lastDelivery = component('LastDelivery', z.object(deliveryFields))

const counts = component(
  'DeliveryCounts',
  z.object({
    accepted: number,
    duplicate: number,
    filtered: number,
    handshake: number,
    ignored: number,
    invalid: number,
    'signature-invalid': number,
    failed: number,
    timeout: number,
    refused: number,
  }),
  { description: 'Deliveries to the service and path by outcome, since this server started' },
)

const webhook = component(
  'Webhook',
  z.object({
    urlPath: text,
    httpMethods: z.array(text),
    package: text,
    fluxName: text,
    name: text.nullable(),
    scheme: text.nullable().meta({
      description: `How requests are verified: ${WEBHOOK_SCHEME_NAMES.join(', ')}; null: not at all`,
    }),
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
    request: object.nullable().meta({
      description:
        'The request, as the service sees it, without secrets; null: it did not pass verification, or can not be read, or the webhook has `verify` and the caller no token with the role `read`. Of a body above 64 KB it has the beginning as text, and `bodyTruncated: true`',
    }),
  }),
)

/** One page of a list. It may have fewer deliveries than asked for, and even none, although there are more. */
export interface DeliveryPage {
  readonly deliveries: DeliveryView[]
  /** Value of `after` for the next page; null if this is the last page. */
  readonly next: string | null
}

export const WEBHOOK_CALLS = {
  /** The endpoints of webhooks, with the counts of this server's deliveries. */
  listWebhooks: describeCall({
    summary: 'List the endpoints of webhooks, with the counts of their deliveries and the last one',
    method: 'GET',
    route: '/flux-api/webhooks',
    role: 'read',
    problems: [],
    strict: true,
    answer: component('Webhooks', z.array(webhook), { xml: { name: 'webhooks' } }),
    answerExample: [
      {
        urlPath: '/stripe',
        httpMethods: ['POST'],
        package: 'shop',
        fluxName: 'Payment',
        name: null,
        scheme: 'stripe',
        counts: {
          accepted: 17,
          duplicate: 2,
          filtered: 240,
          handshake: 0,
          ignored: 0,
          invalid: 0,
          'signature-invalid': 1,
          failed: 0,
          timeout: 0,
          refused: 0,
        },
        last: {
          deliveryId: '019b76da-a800-7000-8000-00005f2c1e6d',
          method: 'POST',
          time: 1_767_225_600_000,
          outcome: 'signature-invalid',
          status: 401,
          duration: 1,
          contextId: null,
          replayOf: null,
          reason: 'no signature fits',
        },
      },
    ],
  }),
  listDeliveries: describeCall({
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
      ...PAGE,
      after: cursor(CURSOR),
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
  }),
  /**
   * Sends a delivery again, without verification, and although it is a repeat. Resolves when its sender would have got
   * the answer.
   * @throws FluxError `notFound`; `conflict` when its request, or a part of it, is not kept
   */
  replayDelivery: describeCall({
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
  }),
}

export type WebhookView = AnswerOf<typeof WEBHOOK_CALLS.listWebhooks>[number]
export type DeliveriesRequest = RequestOf<typeof WEBHOOK_CALLS.listDeliveries>
export type DeliveryView = AnswerOf<typeof WEBHOOK_CALLS.listDeliveries>[number]
export type ReplayAnswer = AnswerOf<typeof WEBHOOK_CALLS.replayDelivery>
