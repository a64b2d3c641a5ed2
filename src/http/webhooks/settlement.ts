// http: how a request to a webhook is answered, for those who list deliveries: the outcome, and the status that the
// caller gets. The one place that knows it, also for requests that are sent again without HTTP.
import type { Failure } from '../../model/failure.ts'
import type { DeliveryOutcome, Settlement, WebhookAnswer, WebhookReply } from '../../model/webhook.ts'
import { JSON_FORMAT } from '../formats/codecs.ts'
import { statusOf } from '../problem.ts'
import { responseOf } from './response.ts'
import { UnsafeResponse } from './response-fields.ts'

export function settlementOf(result: WebhookReply | Failure): Settlement {
  if (!('answer' in result)) return ofFailure(result)
  const { answer, replayed, remark } = result
  const settlement = ofAnswer(answer)
  const outcome = replayed ? 'duplicate' : settlement.outcome
  const { reason } = settlement
  return {
    ...settlement,
    outcome,
    reason: reason !== null && remark !== null ? `${reason}; ${remark}` : (reason ?? remark),
  }
}

function ofAnswer(answer: WebhookAnswer): Settlement {
  const as = (status: number, outcome: DeliveryOutcome = 'accepted', reason: string | null = null): Settlement => ({
    outcome,
    status,
    contextId: 'contextId' in answer ? answer.contextId : null,
    reason,
  })
  switch (answer.kind) {
    case 'response':
      try {
        return as(responseOf(answer.response, JSON_FORMAT).init.status ?? 200)
      } catch (error) {
        if (!(error instanceof UnsafeResponse)) throw error
        return as(500, 'failed', `the answer can't be sent: ${error.message}`)
      }
    case 'outputs':
      return as(200)
    case 'nothing':
      return as(204)
    case 'filtered':
      return as(204, 'filtered')
    case 'paused':
    case 'accepted':
      return as(202)
    case 'running':
      return as(202, 'duplicate')
    case 'sent': {
      const [contextId = null, ...others] = answer.contextIds
      return {
        ...as(200, contextId === null ? 'ignored' : 'accepted'),
        contextId: others.length > 0 ? null : contextId,
      }
    }
    case 'failed':
      return as(500, 'failed', answer.reason)
    case 'late':
      return as(504, 'timeout')
  }
}

/** Kinds of failures that say that the request, or its inputs, can't be read. */
const INVALID: ReadonlySet<Failure['kind']> = new Set([
  'malformed',
  'invalid',
  'unsupportedType',
  'tooLarge',
  'headersTooLarge',
])

function ofFailure(failure: Failure): Settlement {
  const { kind, detail: reason } = failure
  const contextId = 'contextId' in failure ? (failure.contextId ?? null) : null
  // What the sender of a forged request is told says nothing of the reason.
  if (kind === 'signatureInvalid')
    return { outcome: 'signature-invalid', status: statusOf(failure), contextId, reason: null }
  if (kind === 'webhookFailed') return { outcome: 'failed', status: statusOf(failure), contextId, reason }
  if (kind === 'webhookTimeout') return { outcome: 'timeout', status: statusOf(failure), contextId, reason: null }
  // Senders of webhooks don't distinguish invalid inputs from malformed ones.
  const status = kind === 'invalid' ? 400 : statusOf(failure)
  return { outcome: INVALID.has(kind) ? 'invalid' : 'refused', status, contextId, reason }
}
