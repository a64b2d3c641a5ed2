// http: what an endpoint answers: as an HTTP response, and as a delivery in the list. A repeat gets the same answer.
import type { Context } from 'hono'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { HandshakeAnswer } from '../../model/webhook-schemes/scheme.ts'
import type { Delivery, DeliveryOutcome, Settlement, WebhookAnswer, WebhookReply } from '../../model/webhook.ts'
import type { Log } from '../../ports/log.ts'
import type { Answers } from '../answers/answers.ts'
import { JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { statusOf } from '../formats/problem.ts'
import type { Env } from '../request/incoming.ts'
import { pathShown } from '../socket/observe.ts'
import { bodyOf, responseOf, type ResponseBody } from './response.ts'
import { UnsafeResponse } from './response-headers.ts'

/**
 * What an endpoint answers. `handshake`: to a provider that tests it. `refusal`: to a sender that proves nothing;
 * `reason` is not for the sender, but for the list of deliveries.
 */
export type DoorReply =
  WebhookReply | { readonly handshake: HandshakeAnswer } | { readonly refusal: Failure; readonly reason: string }

/** What is known of one request to an endpoint, and what became of it. It ends as one delivery. */
export interface DeliveryInProgress extends Pick<Delivery, 'endpoint' | 'method' | 'path' | 'deliveryId' | 'time'> {
  /** What the endpoint answered; null: it has not, or refused. */
  reply: DoorReply | null
  /** `$request`, as long as no context has it; null: the request is not verified. */
  request: JsonObject | null
  /** Its unparsed body. */
  rawBody: Uint8Array | null
  /** In which data is answered. */
  format: Codec
  /** Whether it has an `Idempotency-Key`, so that its sender learns of a replay. */
  keyed: boolean
}

/** @param now epoch milliseconds */
export function deliveryOf(
  delivery: DeliveryInProgress,
  result: { readonly status: number } | { readonly error: unknown },
  now: number,
): Delivery {
  const { outcome, status, contextId, reason } = settlementInProgress(delivery, 'error' in result ? result.error : null)
  const { deliveryId, endpoint, method, path, time, request, rawBody } = delivery
  // Without spreads, which take most of the time of a forged request here.
  return {
    deliveryId,
    endpoint,
    method,
    path,
    time,
    outcome,
    status: 'status' in result ? result.status : status,
    duration: Math.max(0, now - time),
    contextId,
    replayOf: null,
    reason,
    request,
    rawBody,
  }
}

/** Not the sender's. */
const FAULT: Settlement = {
  outcome: 'failed',
  status: 500,
  contextId: null,
  reason: 'a fault of the server: see its log',
}

function settlementInProgress({ reply }: DeliveryInProgress, error: unknown): Settlement {
  if (reply === null) return error instanceof FluxError ? settlementOf(error.failure) : FAULT
  if ('refusal' in reply) return { ...settlementOf(reply.refusal), reason: reply.reason }
  return 'handshake' in reply
    ? { outcome: 'handshake', status: reply.handshake.status, contextId: null, reason: null }
    : settlementOf(reply)
}

/**
 * How a request is answered, for those who list deliveries: the outcome, and the status that the caller gets; also for
 * requests that are sent again without HTTP.
 */
export function settlementOf(result: WebhookReply | Failure): Settlement {
  if (!('answer' in result)) return ofFailure(result)
  const { answer, replayed, remark } = result
  const settlement = ofAnswer(answer)
  return {
    ...settlement,
    outcome: replayed ? 'duplicate' : settlement.outcome,
    reason: [settlement.reason, remark].filter((text) => text !== null).join('; ') || null,
  }
}

const OUTCOMES: { readonly [kind in WebhookAnswer['kind']]?: DeliveryOutcome } = {
  filtered: 'filtered',
  running: 'duplicate',
}

function ofAnswer(answer: WebhookAnswer): Settlement {
  let contextId = 'contextId' in answer ? answer.contextId : null
  let outcome = OUTCOMES[answer.kind] ?? 'accepted'
  if (answer.kind === 'failed') return { outcome: 'failed', status: 500, contextId, reason: answer.reason }
  if (answer.kind === 'sent') {
    const [first = null, ...others] = answer.contextIds
    if (first === null) outcome = 'ignored'
    contextId = others.length > 0 ? null : first
  }
  try {
    return { outcome, status: bodyOfAnswer(answer, JSON_FORMAT).init.status ?? 200, contextId, reason: null }
  } catch (error) {
    if (error instanceof FluxError) return ofFailure(error.failure)
    if (!(error instanceof UnsafeResponse)) throw error
    return { outcome: 'failed', status: 500, contextId, reason: `the answer can't be sent: ${error.message}` }
  }
}

/** Kinds of failures that say that the request, or its inputs, can't be read. */
const INVALID: ReadonlySet<Failure['kind']> = new Set(['malformed', 'invalid', 'unsupportedType', 'tooLarge'])

function ofFailure(failure: Failure): Settlement {
  const { kind, detail: reason } = failure
  const contextId = 'contextId' in failure ? (failure.contextId ?? null) : null
  // Senders of webhooks don't distinguish invalid inputs from malformed ones.
  const status = kind === 'invalid' ? 400 : statusOf(failure)
  // What the sender of a forged request is told says nothing of the reason.
  if (kind === 'signatureInvalid') return { outcome: 'signature-invalid', status, contextId, reason: null }
  if (kind === 'webhookFailed') return { outcome: 'failed', status, contextId, reason }
  if (kind === 'webhookTimeout') return { outcome: 'timeout', status, contextId, reason: null }
  return { outcome: INVALID.has(kind) ? 'invalid' : 'refused', status, contextId, reason }
}

export interface ReplyOptions extends Pick<DeliveryInProgress, 'format' | 'keyed'> {
  readonly log: Log
  readonly answers: Answers
  /** Writes a problem. */
  readonly refuse: (c: Context<Env>, failure: Failure) => Response
}

/** @throws FluxError for a workflow that failed, is late, or gave an answer that can't be sent */
export async function respond(
  c: Context<Env>,
  reply: DoorReply,
  { format, log, answers, keyed, refuse }: ReplyOptions,
): Promise<Response> {
  if ('refusal' in reply) return refuse(c, reply.refusal)
  if ('handshake' in reply) {
    const { status, contentType, text } = reply.handshake
    return new Response(text, { status, headers: { 'Content-Type': contentType } })
  }
  const { answer, replayed } = reply
  const isTold = keyed && replayed
  if (isTold) c.set('replayed', true)
  // A repeat is no news.
  if (answer.kind === 'failed' && !replayed)
    log.warn('the workflow behind a webhook failed', {
      contextId: answer.contextId,
      path: pathShown(c),
      reason: answer.reason,
    })
  try {
    const response = await sent(c, bodyOfAnswer(answer, format), answers)
    if (isTold) response.headers.set('Idempotency-Replayed', 'true')
    return response
  } catch (error) {
    if (!(error instanceof UnsafeResponse) || !('contextId' in answer)) throw error
    const { contextId } = answer
    log.error("the answer of a webhook can't be sent", { contextId, path: pathShown(c), reason: error.message })
    const detail = "the workflow gave an answer that can't be sent"
    throw new FluxError({ kind: 'webhookFailed', detail, contextId })
  }
}

/** @throws FluxError `overloaded` */
function sent(c: Context<Env>, { content, init }: ResponseBody, answers: Answers): Response | Promise<Response> {
  if (content === null) return new Response(null, init)
  if (typeof content === 'string') return answers.text(c, content, init)
  if (content instanceof Uint8Array) return answers.bytes(c, content, init)
  return answers.send(c, content.value, content.format, 'response', init)
}

/** @throws FluxError where the answer is a problem; UnsafeResponse */
function bodyOfAnswer(answer: WebhookAnswer, format: Codec): ResponseBody {
  switch (answer.kind) {
    case 'response':
      return responseOf(answer.response, format)
    case 'outputs':
      return bodyOf(answer.value, { status: 200, format, always: true })
    case 'nothing':
    case 'filtered':
      return { content: null, init: { status: 204, headers: {} } }
    case 'paused':
    case 'accepted': {
      const { contextId, status } = answer
      const location = `/flux-api/context?contextId=${contextId}`
      return bodyOf({ contextId, status }, { status: 202, headers: [['Location', location]], format })
    }
    case 'running':
      return bodyOf({ contextId: answer.contextId }, { status: 202, format })
    case 'sent': {
      const { eventId, contextIds } = answer
      return bodyOf({ eventId, contextIds: [...contextIds] }, { status: 200, format })
    }
    case 'failed':
      throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow failed', contextId: answer.contextId })
    case 'late':
      throw new FluxError({
        kind: 'webhookTimeout',
        detail: 'the workflow did not finish in time, and continues',
        contextId: answer.contextId,
      })
  }
}
