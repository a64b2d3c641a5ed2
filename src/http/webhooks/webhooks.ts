// http: serves the webhooks under /api. A request is found its endpoint, read, verified and parsed, in this order; then the
// engine judges it. Every request to an endpoint ends as one delivery.
import type { Context, Hono } from 'hono'
import type { BudgetShare, ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, serverPaused } from '../../model/failure.ts'
import type { WebhookApi } from '../../model/webhook.ts'
import type { Answers } from '../answers/answers.ts'
import { answerFormat, JSON_FORMAT } from '../formats/codecs.ts'
import { statusOf } from '../formats/problem.ts'
import type { BodyAdmission } from '../request/body.ts'
import { headerOf, idempotencyKeyOf, readBytes, type Env } from '../request/incoming.ts'
import { pathShown, traceOf } from '../socket/observe.ts'
import { deliveryOf, respond, type DeliveryInProgress, type DoorReply, type ReplyOptions } from './reply.ts'
import { readWebhookRequest, unreadRequest, type WebhookLimits } from './request.ts'
import { endpointOf, noteEndpoint, WEBHOOKS, type MatchedEndpoint } from './routing.ts'
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
  readonly refuse: ReplyOptions['refuse']
  /** Whether the server takes no webhooks yet; left out: it does. */
  readonly isPaused?: () => boolean
}

/** Bytes of memory that a waiting caller takes: a connection, and the state of its context. */
const WAITING_BYTES = 16 * 1024

export function addWebhooks(app: Hono<Env>, options: WebhookOptions): void {
  const { webhooks, waiting, unverified, inFlight, secrets, isPaused } = options
  const verifier = new SignatureVerifier(options)
  app.all(`${WEBHOOKS}/*`, async (c) => {
    const found = matched(c, webhooks)
    const { endpoint } = found
    noteEndpoint(c, endpoint)
    if (isPaused?.()) throw serverPaused()
    const delivery: DeliveryInProgress = {
      endpoint,
      method: c.req.method,
      path: pathShown(c),
      ...webhooks.arrival(),
      reply: null,
      request: null,
      rawBody: null,
      format: JSON_FORMAT,
      keyed: false,
    }
    const settle = (result: Parameters<typeof deliveryOf>[1]) => {
      const settled = deliveryOf(delivery, result, webhooks.now())
      const { reason } = settled
      webhooks.settled(reason === null ? settled : { ...settled, reason: secrets.redactor().text(reason) })
    }
    const shares = { wait: waiting.hold(), arriving: unverified.hold(), hold: inFlight.hold() }
    try {
      delivery.reply = await receive(c, options, { ...shares, found, delivery, verifier })
      const response = await respond(c, delivery.reply, { ...options, format: delivery.format, keyed: delivery.keyed })
      settle({ status: response.status })
      return response
    } catch (error) {
      settle({ error })
      throw error
    } finally {
      for (const share of Object.values(shares)) share.release()
    }
  })
}

/** @throws FluxError when there is no such endpoint, which is logged */
function matched(c: Context<Env>, webhooks: WebhookApi): MatchedEndpoint {
  try {
    return endpointOf(webhooks, c)
  } catch (error) {
    if (error instanceof FluxError && statusOf(error.failure) < 500)
      webhooks.unmatched({ method: c.req.method, path: pathShown(c), reason: error.failure.detail })
    throw error
  }
}

interface Received {
  readonly found: MatchedEndpoint
  readonly delivery: DeliveryInProgress
  readonly verifier: SignatureVerifier
  /** Charged once the request is verified: strangers must not use up the places of those who wait. */
  readonly wait: BudgetShare
  /** Charged until the request is verified. */
  readonly arriving: BudgetShare
  /** Charged with the memory that the request takes. */
  readonly hold: BudgetShare
}

/**
 * The body is passed on without a variable: once the context is stored, a waiting caller keeps nothing of the request in
 * memory.
 */
function receive(c: Context<Env>, options: WebhookOptions, received: Received): Promise<DoorReply> {
  const charge = (bytes: number) => {
    received.arriving.resize(bytes)
    received.hold.resize(bytes)
  }
  const reading = { limit: options.maxBody, charge, trustsLength: false }
  return readBytes(c, reading, (rawBody) => passed(c, rawBody, options, received))
}

/** @throws FluxError when it is malformed; see also `WebhookApi.receive` */
function passed(
  c: Context<Env>,
  rawBody: Buffer,
  options: WebhookOptions,
  { found: { endpoint, parameters: path }, delivery, verifier, wait, arriving, hold }: Received,
): DoorReply | Promise<DoorReply> {
  const { webhooks, webhookTimeout } = options
  arriving.release()
  const refused = verifier.refusalOf(c, endpoint, { body: rawBody, nowMs: webhooks.now() })
  if (refused) return refused
  wait.resize(WAITING_BYTES)
  const timeout = endpoint.timeout ?? webhookTimeout
  // What it asks for may be malformed, and then nothing must be done.
  delivery.format = answerFormat(headerOf(c, 'accept')) ?? JSON_FORMAT
  delivery.rawBody = rawBody
  const about = { path, timeout, proofHeader: proofHeaderOf(endpoint), limits: options }
  let call
  try {
    call = readWebhookRequest(c, rawBody, about)
  } catch (error) {
    delivery.request = unreadRequest(c, rawBody, about)
    throw error
  }
  delivery.request = call.request
  const handshake = handshakeOf(endpoint, call.request['body'] ?? null)
  if (handshake) return { handshake }
  const idempotencyKey = idempotencyKeyOf(c) ?? null
  delivery.keyed = idempotencyKey !== null
  const { deliveryId, time } = delivery
  const onStarted = () => {
    hold.release()
    delivery.request = delivery.rawBody = null
  }
  return webhooks
    .receive({
      ...call,
      endpoint,
      deliveryId,
      time,
      timeout,
      idempotencyKey,
      replayOf: null,
      onStarted,
      traceparent: traceOf(c),
    })
    .catch(asBadRequest)
}

/**
 * Turns an invalid input (422) into a malformed request (400), since senders of webhooks do not distinguish the two.
 */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw new FluxError({ kind: 'malformed', detail, errors })
}
