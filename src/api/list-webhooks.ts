// api: lists the endpoints of webhooks, with what became of their deliveries.
import { z } from 'zod'
import { DELIVERY_OUTCOMES } from '../model/webhook.ts'
import { WEBHOOK_SCHEME_NAMES } from '../model/webhook-schemes/scheme.ts'
import { describeCall, type AnswerOf } from './call.ts'
import { component } from './component.ts'
import { contextId, text, time } from './fields.ts'

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
  reason: text.nullable().meta({ description: 'Why it was not accepted, or what else is to be said of it' }),
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

export const LIST_WEBHOOKS = describeCall({
  id: 'listWebhooks',
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
        reason: null,
      },
    },
  ],
})

/** It has no fields. */
export type ListWebhooksRequest = object
export type WebhookView = AnswerOf<typeof LIST_WEBHOOKS>[number]
