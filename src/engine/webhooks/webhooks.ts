// engine/webhooks: what the endpoints of webhooks do with a verified request, and what is recorded of their deliveries.
import { serverPaused } from '../../model/failure.ts'
import type { WebhookApi } from '../../model/webhook.ts'
import type { CallParts } from '../calls/call-env.ts'
import { redactedFor } from '../redact/redactor.ts'
import { receive } from './receive.ts'

export function webhooks(parts: CallParts): WebhookApi {
  const { catalog, clock, deliveries, gate, refusals, signals, waits } = parts
  return {
    giveUp: () => waits.endCallers(),

    find: (method, segments) => catalog.endpoints().find(method, segments),
    all: () => catalog.endpoints().all,

    arrival: () => deliveries.arrival(),

    now: () => clock.now(),

    unmatched({ method, path, reason }) {
      signals.delivery(null, 'refused')
      const facts = { contextId: null, fluxName: null, state: null, reason, method, path }
      void refusals.log('a webhook was refused', 'unmatched', () => facts)
    },

    settled(given) {
      const { request, endpoint, outcome, status, method, path, contextId } = given
      const reason = request && given.reason !== null ? redactedFor(request, given.reason) : given.reason
      deliveries.settled({ ...given, reason })
      signals.delivery(endpoint, outcome)
      if (status >= 500 || (outcome !== 'refused' && outcome !== 'invalid')) return
      const facts = { contextId, fluxName: endpoint.fluxName, state: null, reason, method, path }
      void refusals.log('a webhook was refused', outcome, () => facts)
    },

    receive: (call) => (gate.isClosed ? Promise.reject(serverPaused()) : receive(parts, call)),
  }
}
