// engine/webhooks: what the endpoints of webhooks do with a verified request, and what is recorded of their deliveries.
import { serverPaused } from '../../model/failure.ts'
import type { WebhookApi } from '../../model/webhook.ts'
import type { Signals } from '../../ports/signals.ts'
import type { Gate } from '../calls/call-env.ts'
import { redactedFor } from '../redact/redactor.ts'
import type { RefusalLog } from '../fanout/outcomes.ts'
import { receive, type ReceiveParts } from './receive.ts'

export interface WebhooksParts extends ReceiveParts {
  readonly refusals: RefusalLog
  readonly signals: Signals
  readonly gate: Gate
}

export function webhooks(parts: WebhooksParts): WebhookApi {
  const { catalog, clock, deliveries, gate, refusals, signals, waits } = parts
  return {
    giveUp: () => waits.endCallers(),

    find: (method, segments) => catalog.endpoints().find(method, segments),
    all: () => catalog.endpoints().all,

    arrival: () => deliveries.arrival(),

    now: () => clock.now(),

    unmatched({ method, path, reason }) {
      signals.unmatchedDelivery()
      const facts = { contextId: null, fluxName: null, state: null, reason, method, path }
      void refusals.log('a webhook was refused', 'unmatched', () => facts)
    },

    settled(given) {
      const { request, reason: quoting } = given
      const delivery =
        request === null || quoting === null ? given : { ...given, reason: redactedFor(request, quoting) }
      deliveries.settled(delivery)
      signals.delivery(delivery.endpoint, delivery.outcome)
      const { endpoint, outcome, status, method, path, contextId, reason } = delivery
      if (status >= 500 || (outcome !== 'refused' && outcome !== 'invalid')) return
      const facts = { contextId, fluxName: endpoint.fluxName, state: null, reason, method, path }
      void refusals.log('a webhook was refused', outcome, () => facts)
    },

    receive: (call) => (gate.isClosed ? Promise.reject(serverPaused()) : receive(parts, call)),
  }
}
