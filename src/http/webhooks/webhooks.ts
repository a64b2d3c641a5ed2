// http: serves the webhooks under /api. A request is found its endpoint, read, verified and parsed, in this order; then the
// engine judges it. Every request to an endpoint ends as one delivery.
import type { Context, Hono } from 'hono'
import type { BudgetShare, ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, malformed, serverPaused, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Delivery, Settlement, WebhookApi } from '../../model/webhook.ts'
import type { Answers } from '../answers/answers.ts'
import { answerFormat, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import type { BodyAdmission } from '../request/body.ts'
import { headerOf, idempotencyKeyOf, readBytes, type Env } from '../request/incoming.ts'
import { pathShown, traceOf } from '../socket/observe.ts'
import type { WebhookLimits } from './body.ts'
import { prepareReply, settlementOf, type DoorReply } from './reply.ts'
import { readWebhookRequest, unreadRequest } from './request.ts'
import type { ReadyResponse } from './response.ts'
import { findEndpoint, noteEndpoint, WEBHOOKS } from './routing.ts'
import { handshakeOf, proofHeaderOf, SignatureVerifier, type VerifierOptions } from './signature-verifier.ts'

export interface WebhookOptions extends WebhookLimits, BodyAdmission, VerifierOptions {
  readonly webhooks: WebhookApi
  /** Milliseconds after which a webhook is answered with 504, unless it has a `timeout` of its own. */
  readonly webhookTimeout: number
  /**
   * Budget for callers that wait for an answer. It is separate from that of requests, because otherwise the events that
   * they wait for might be refused.
   */
  readonly waiting: ByteBudget
  /**
   * Budget for what has arrived of requests that are not verified yet, which is charged to that of requests as well: a
   * part of it, so that strangers can't use up the whole.
   */
  readonly unverified: ByteBudget
  readonly answers: Answers
  /** Writes a problem. */
  readonly refuse: (c: Context<Env>, failure: Failure) => Response
  /** Whether the server takes no webhooks yet; left out: it does. */
  readonly isPaused?: () => boolean
}

/** Bytes of memory that a waiting caller takes: a connection, and the state of its context. */
const WAITING_BYTES = 16 * 1024

/** Of a request that a fault of the server ended. */
const FAULT: Settlement = {
  outcome: 'failed',
  status: 500,
  contextId: null,
  reason: 'a fault of the server: see its log',
}

/** What is known of one request to an endpoint. */
interface DeliveryInProgress extends Pick<Delivery, 'deliveryId' | 'endpoint' | 'time'> {
  /** In which data is answered. */
  format: Codec
  idempotencyKey: string | null
  /** As long as no context has it; null: it is not verified. */
  request: JsonObject | null
  rawBody: Uint8Array | null
}

export function addWebhooks(app: Hono<Env>, options: WebhookOptions): void {
  const { webhooks, maxBody, secrets, isPaused, log } = options
  const verifier = new SignatureVerifier(options)
  app.all(`${WEBHOOKS}/*`, async (c) => {
    const { endpoint, parameters } = findEndpoint(c, webhooks)
    noteEndpoint(c, endpoint)
    if (isPaused?.()) throw serverPaused()
    const nothing = { format: JSON_FORMAT, idempotencyKey: null, request: null, rawBody: null }
    const delivery: DeliveryInProgress = { ...webhooks.arrival(), endpoint, ...nothing }
    const [{ method }, path] = [c.req, pathShown(c)]
    const [waiting, unverified, inFlight] = [options.waiting.hold(), options.unverified.hold(), options.inFlight.hold()]
    let settlement = FAULT
    const charge = (bytes: number) => {
      unverified.resize(bytes)
      inFlight.resize(bytes)
    }
    const receive = (body: Buffer) => {
      unverified.release()
      const refusal = verifier.refusalOf(c, endpoint, body, webhooks.now())
      if (refusal) return refusal
      // Strangers must not use up the places of those who wait.
      waiting.resize(WAITING_BYTES)
      return passed(c, body, parameters, delivery, options, inFlight)
    }
    try {
      const reply = await readBytes(c, { limit: maxBody, charge, trustsLength: false }, receive)
      const prepared = prepareReply(reply, delivery.format)
      settlement = prepared.settlement
      const { outcome, contextId, reason } = settlement
      // A repeat is no news.
      if (outcome === 'failed') {
        const isUnsafe = 'answer' in reply && reply.answer.kind === 'response'
        log[isUnsafe ? 'error' : 'warn']('the workflow behind a webhook failed', { contextId, path, reason })
      }
      const isReplay = delivery.idempotencyKey !== null && 'replayed' in reply && reply.replayed
      return await respond(c, prepared.sent, isReplay, options)
    } catch (error) {
      if (settlement === FAULT && error instanceof FluxError) settlement = settlementOf(error.failure)
      throw error
    } finally {
      for (const share of [waiting, unverified, inFlight]) share.release()
      const { deliveryId, time, request, rawBody } = delivery
      const duration = Math.max(0, webhooks.now() - time)
      const reason = settlement.reason && secrets.redactor().text(settlement.reason)
      const settled = { deliveryId, endpoint, method, path, time, duration, replayOf: null, request, rawBody }
      webhooks.settled({ ...settled, ...settlement, reason })
    }
  })
}

/** @throws FluxError when it is malformed; see also `WebhookApi.receive` */
function passed(
  c: Context<Env>,
  rawBody: Buffer,
  path: ReadonlyMap<string, string>,
  delivery: DeliveryInProgress,
  options: WebhookOptions,
  inFlight: BudgetShare,
): DoorReply | Promise<DoorReply> {
  const { endpoint, deliveryId, time } = delivery
  const timeout = endpoint.timeout ?? options.webhookTimeout
  // What it asks for may be malformed, and then nothing must be done.
  delivery.format = answerFormat(headerOf(c, 'accept')) ?? JSON_FORMAT
  delivery.rawBody = rawBody
  const about = { path, timeout, proofHeader: proofHeaderOf(endpoint) }
  let request
  try {
    request = readWebhookRequest(c, rawBody, about, options)
  } catch (error) {
    delivery.request = unreadRequest(c, rawBody, about)
    throw error
  }
  delivery.request = request
  const handshake = handshakeOf(endpoint, request['body'] ?? null)
  if (handshake) return { handshake }
  const idempotencyKey = idempotencyKeyOf(c) ?? null
  delivery.idempotencyKey = idempotencyKey
  const onStarted = () => {
    inFlight.release()
    delivery.request = delivery.rawBody = null
  }
  const call = { endpoint, deliveryId, time, timeout, idempotencyKey, request, rawBody, onStarted }
  return options.webhooks.receive({ ...call, replayOf: null, traceparent: traceOf(c) }).catch(asBadRequest)
}

async function respond(
  c: Context<Env>,
  sent: ReadyResponse | Failure,
  isReplay: boolean,
  { answers, refuse }: WebhookOptions,
): Promise<Response> {
  if (isReplay) c.set('replayed', true)
  if ('kind' in sent) return refuse(c, sent)
  const response = await sent.send(c, answers)
  if (isReplay) response.headers.set('Idempotency-Replayed', 'true')
  return response
}

/**
 * Turns an invalid input (422) into a malformed request (400), since senders of webhooks do not distinguish the two.
 */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw malformed(detail, errors)
}
