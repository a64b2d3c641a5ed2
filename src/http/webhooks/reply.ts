// http: what an endpoint answers: as an HTTP response, and as a delivery in the list. A repeat gets the same answer.
import type { Failure } from '../../model/failure.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import type { DeliveryOutcome, Settlement, WebhookAnswer, WebhookReply } from '../../model/webhook.ts'
import { JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { statusOf } from '../formats/problem.ts'
import { bodyOf, responseOf, UnsafeResponse, type ReadyResponse } from './response.ts'

/** What a sender that proves nothing is answered; `reason` is not for the sender, but for the list of deliveries. */
export interface Refusal {
  readonly refusal: Failure
  readonly reason: string
}

/** What an endpoint answers. `handshake`: to a provider that tests it. */
export type DoorReply = WebhookReply | { readonly handshake: HandshakeAnswer } | Refusal

/** What becomes of a reply. */
interface PreparedReply {
  readonly settlement: Settlement
  /** What is sent: a response or a problem. */
  readonly sent: ReadyResponse | Failure
}

/** @param format in which data is answered */
export function prepareReply(reply: DoorReply, format: Codec): PreparedReply {
  if ('refusal' in reply)
    return { settlement: { ...settlementOf(reply.refusal), reason: reply.reason }, sent: reply.refusal }
  if ('handshake' in reply) {
    const { status, contentType, text } = reply.handshake
    const sent = bodyOf(text, status, format, [['Content-Type', contentType]])
    return { settlement: { outcome: 'handshake', status, contextId: null, reason: null }, sent }
  }
  const { answer, replayed, remark } = reply
  const [contextId = null, ...others] = contextsOf(answer)
  let outcome = answer.kind === 'sent' && contextId === null ? 'ignored' : (OUTCOMES[answer.kind] ?? 'accepted')
  let reason = answer.kind === 'failed' ? answer.reason : null
  let sent
  try {
    sent = answered(answer, format)
  } catch (error) {
    if (!(error instanceof UnsafeResponse) || contextId === null) throw error
    outcome = 'failed'
    reason = `the answer can't be sent: ${error.message}`
    sent = { kind: 'webhookFailed', detail: "the workflow gave an answer that can't be sent", contextId } as const
  }
  return {
    settlement: {
      outcome: replayed ? 'duplicate' : outcome,
      status: 'kind' in sent ? statusOf(sent) : sent.status,
      contextId: others.length > 0 ? null : contextId,
      reason: [reason, remark].filter((text) => text !== null).join('; ') || null,
    },
    sent,
  }
}

/** Of answers that do not tell that a context was started, or an event taken. */
const OUTCOMES: { readonly [kind in WebhookAnswer['kind']]?: DeliveryOutcome } = {
  failed: 'failed',
  filtered: 'filtered',
  late: 'timeout',
  running: 'duplicate',
}

function contextsOf(answer: WebhookAnswer) {
  if (answer.kind === 'sent') return answer.contextIds
  return answer.kind === 'filtered' ? [] : [answer.contextId]
}

/** @throws UnsafeResponse */
function answered(answer: WebhookAnswer, format: Codec): ReadyResponse | Failure {
  switch (answer.kind) {
    case 'response':
      return responseOf(answer.response, format)
    case 'outputs':
      return bodyOf(answer.value, 200, format)
    case 'nothing':
    case 'filtered':
      return bodyOf(undefined, 204, format)
    case 'paused':
    case 'accepted': {
      const { contextId, status } = answer
      return bodyOf({ contextId, status }, 202, format, [['Location', `/flux-api/context?contextId=${contextId}`]])
    }
    case 'running':
      return bodyOf({ contextId: answer.contextId }, 202, format)
    case 'sent': {
      const { eventId, contextIds } = answer
      return bodyOf({ eventId, contextIds: [...contextIds] }, 200, format)
    }
    case 'failed':
      return { kind: 'webhookFailed', detail: 'the workflow failed', contextId: answer.contextId }
    case 'late': {
      const detail = 'the workflow did not finish in time, and continues'
      return { kind: 'webhookTimeout', detail, contextId: answer.contextId }
    }
  }
}

/** Kinds of failures that say that the request, or its inputs, can't be read. */
const INVALID: ReadonlySet<Failure['kind']> = new Set(['malformed', 'invalid', 'unsupportedType', 'tooLarge'])

/**
 * How a request is answered, for those who list deliveries: the outcome, and the status that the caller gets; also for
 * requests that are sent again without HTTP.
 */
export function settlementOf(result: WebhookReply | Failure): Settlement {
  if ('answer' in result) return prepareReply(result, JSON_FORMAT).settlement
  const { kind, detail: reason } = result
  const contextId = 'contextId' in result ? (result.contextId ?? null) : null
  // Senders of webhooks don't distinguish invalid inputs from malformed ones.
  const status = kind === 'invalid' ? 400 : statusOf(result)
  if (kind === 'signatureInvalid') return { outcome: 'signature-invalid', status, contextId, reason }
  return { outcome: INVALID.has(kind) ? 'invalid' : 'refused', status, contextId, reason }
}
