// http: serves the webhooks under /api. A request is found its endpoint, read, verified and parsed, in this order; then the
// engine judges it. Every request to an endpoint ends as one delivery.
import type { Context, Hono } from 'hono'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, serverPaused, type Failure } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { Settlement, WebhookApi } from '../../model/webhook.ts'
import type { Answers } from '../answers/answers.ts'
import { answerFormat, JSON_FORMAT } from '../formats/codecs.ts'
import type { BodyAdmission } from '../request/body.ts'
import { headerOf, idempotencyKeyOf, readBytes, type Env } from '../request/incoming.ts'
import { pathShown, traceOf } from '../socket/observe.ts'
import type { WebhookLimits } from './body.ts'
import { prepareReply, settlementOf, type DoorReply } from './reply.ts'
import { readWebhookRequest, unreadRequest } from './request.ts'
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

export function addWebhooks(app: Hono<Env>, options: WebhookOptions): void {
  const { webhooks, webhookTimeout, maxBody, secrets, isPaused, log, answers, refuse } = options
  const verifier = new SignatureVerifier(options)
  app.all(`${WEBHOOKS}/*`, async (c) => {
    const { endpoint, parameters } = findEndpoint(c, webhooks)
    noteEndpoint(c, endpoint)
    if (isPaused?.()) throw serverPaused()
    const { deliveryId, time } = webhooks.arrival()
    const [{ method }, path] = [c.req, pathShown(c)]
    /** `waiting` is charged once the request is verified: strangers must not use up the places of those who wait. */
    const [waiting, unverified, inFlight] = [options.waiting.hold(), options.unverified.hold(), options.inFlight.hold()]
    let settlement = FAULT
    let format = JSON_FORMAT
    let idempotencyKey: string | null = null
    /** As long as no context has it; null: it is not verified. */
    let request: JsonObject | null = null
    let rawBody: Uint8Array | null = null

    const receive = (bytes: Buffer): DoorReply | Promise<DoorReply> => {
      unverified.release()
      const refusal = verifier.refusalOf(c, endpoint, bytes, webhooks.now())
      if (refusal) return refusal
      waiting.resize(WAITING_BYTES)
      const timeout = endpoint.timeout ?? webhookTimeout
      // What it asks for may be malformed, and then nothing must be done.
      format = answerFormat(headerOf(c, 'accept')) ?? JSON_FORMAT
      rawBody = bytes
      const about = { path: parameters, timeout, proofHeader: proofHeaderOf(endpoint) }
      try {
        request = readWebhookRequest(c, bytes, about, options)
      } catch (error) {
        request = unreadRequest(c, bytes, about)
        throw error
      }
      const handshake = handshakeOf(endpoint, request['body'] ?? null)
      if (handshake) return { handshake }
      idempotencyKey = idempotencyKeyOf(c) ?? null
      const onStarted = () => {
        inFlight.release()
        request = rawBody = null
      }
      const call = { endpoint, deliveryId, time, timeout, idempotencyKey, request, rawBody: bytes, onStarted }
      return webhooks.receive({ ...call, replayOf: null, traceparent: traceOf(c) }).catch(asBadRequest)
    }
    const charge = (bytes: number) => {
      unverified.resize(bytes)
      inFlight.resize(bytes)
    }

    try {
      const reply = await readBytes(c, { limit: maxBody, charge, trustsLength: false }, receive)
      const prepared = prepareReply(reply, format)
      const { sent } = prepared
      settlement = prepared.settlement
      const { outcome, contextId, reason } = settlement
      // A repeat is no news.
      if (outcome === 'failed') {
        const isUnsafe = 'answer' in reply && reply.answer.kind === 'response'
        log[isUnsafe ? 'error' : 'warn']('the workflow behind a webhook failed', { contextId, path, reason })
      }
      const isReplay = idempotencyKey !== null && 'replayed' in reply && reply.replayed
      if (isReplay) c.set('replayed', true)
      if ('kind' in sent) return refuse(c, sent)
      const response = await sent.send(c, answers)
      if (isReplay) response.headers.set('Idempotency-Replayed', 'true')
      return response
    } catch (error) {
      if (settlement === FAULT && error instanceof FluxError) settlement = settlementOf(error.failure)
      throw error
    } finally {
      for (const share of [waiting, unverified, inFlight]) share.release()
      const { outcome, status, contextId, reason } = settlement
      webhooks.settled({
        deliveryId,
        endpoint,
        method,
        path,
        time,
        outcome,
        status,
        duration: Math.max(0, webhooks.now() - time),
        contextId,
        replayOf: null,
        reason: reason === null ? null : secrets.redactor().text(reason),
        request,
        rawBody,
      })
    }
  })
}

/**
 * Turns an invalid input (422) into a malformed request (400), since senders of webhooks do not distinguish the two.
 */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw new FluxError({ kind: 'malformed', detail, errors })
}
