// engine/webhooks: what the endpoints of webhooks do with a verified request, and what is told of their deliveries.
import type { WebhookApi } from '../../model/webhook.ts'
import type { RefusalLog } from '../refusal-log.ts'
import { receive, type ReceiveParts } from './receive.ts'
import { WebhookWaits } from './webhook-waits.ts'

export interface WebhooksParts extends Omit<ReceiveParts, 'waits'> {
  readonly refusals: RefusalLog
}

export function webhooks(parts: WebhooksParts): WebhookApi {
  const { catalog, deliveries, refusals } = parts
  const waits = new WebhookWaits(parts)
  return {
    giveUp: () => waits.endAll(),

    find: (method, segments) => catalog.endpoints().find(method, segments),
    all: () => catalog.endpoints().all,

    arrival: () => deliveries.arrival(),

    settled(delivery) {
      deliveries.settled(delivery)
      const { endpoint, outcome, status, method, path, contextId, reason } = delivery
      if (status < 400 || status >= 500) return
      const facts = { contextId, fluxName: endpoint.fluxName, state: null, reason, method, path }
      void refusals.log('a webhook was refused', outcome, () => facts)
    },

    receive: (call) => receive({ ...parts, waits }, call),
  }
}
