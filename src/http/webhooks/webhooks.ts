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
import { traceOf } from '../socket/trace.ts'
import { pathShown, shownPath } from '../socket/access-log.ts'
import { Door, handshakeOf, proofHeaderOf, type DoorOptions } from './door.ts'
import { deliveryOf, respond, type DoorReply, type ReplyOptions, type Visit } from './reply.ts'
import { readWebhookRequest, unreadRequest, type WebhookLimits } from './request.ts'
import { endpointOf, hasSecretInPath, noteEndpoint, WEBHOOKS, type MatchedEndpoint } from './routing.ts'

export interface WebhookOptions extends WebhookLimits, BodyAdmission, DoorOptions {
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

interface Served extends Pick<WebhookOptions, 'webhooks' | 'webhookTimeout'> {
  readonly door: Door
  readonly limits: WebhookLimits
}

export function addWebhooks(app: Hono<Env>, options: WebhookOptions): void {
  const { webhooks, waiting, unverified, inFlight, log, answers, refuse, isPaused } = options
  const door = new Door(options)
  const served = { webhooks, webhookTimeout: options.webhookTimeout, door, limits: options }
  const answer = async (c: Context<Env>, found: MatchedEndpoint, visit: Visit): Promise<Response> => {
    const wait = waiting.hold()
    const arriving = unverified.hold()
    const hold = inFlight.hold()
    try {
      visit.reply = await receive(c, served, { found, visit, wait, arriving, hold })
      return await respond(c, visit.reply, { format: visit.format, keyed: visit.keyed, log, answers, refuse })
    } finally {
      hold.release()
      arriving.release()
      wait.release()
    }
  }
  app.all(`${WEBHOOKS}/*`, async (c) => {
    const found = matched(c, webhooks)
    const { endpoint } = found
    noteEndpoint(c, endpoint)
    if (isPaused?.()) throw serverPaused()
    if (hasSecretInPath(endpoint)) shownPath(c, WEBHOOKS + endpoint.urlPath)
    const visit: Visit = {
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
    const settled = (result: Parameters<typeof deliveryOf>[1]) => {
      const delivery = deliveryOf(visit, result, webhooks.now())
      webhooks.settled(delivery.reason === null ? delivery : { ...delivery, reason: door.hidden(delivery.reason) })
    }
    let response: Response
    try {
      response = await answer(c, found, visit)
    } catch (error) {
      settled({ error })
      throw error
    }
    settled({ status: response.status })
    return response
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
  readonly visit: Visit
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
function receive(c: Context<Env>, served: Served, received: Received): Promise<DoorReply> {
  const charge = (bytes: number) => {
    received.arriving.resize(bytes)
    received.hold.resize(bytes)
  }
  const options = { limit: served.limits.maxBody, charge, trustsLength: false }
  return readBytes(c, options, (rawBody) => passed(c, rawBody, served, received))
}

/** @throws FluxError when it is malformed; see also `WebhookApi.receive` */
function passed(
  c: Context<Env>,
  rawBody: Buffer,
  { webhooks, webhookTimeout, door, limits }: Served,
  { found: { endpoint, parameters }, visit, wait, arriving, hold }: Received,
): DoorReply | Promise<DoorReply> {
  arriving.release()
  const refused = door.refusalOf(c, endpoint, { body: rawBody, nowMs: webhooks.now() })
  if (refused) return refused
  wait.resize(WAITING_BYTES)
  const timeout = endpoint.timeout ?? webhookTimeout
  const about = { path: parameters, timeout, proofHeader: proofHeaderOf(endpoint) }
  // What it asks for may be malformed, and then nothing must be done.
  visit.format = answerFormat(headerOf(c, 'accept')) ?? JSON_FORMAT
  const { deliveryId, time } = visit
  const onStarted = () => {
    hold.release()
    visit.request = visit.rawBody = null
  }
  const call = parsed(c, rawBody, { ...about, limits, visit })
  const handshake = handshakeOf(endpoint, call.request['body'] ?? null)
  if (handshake) return { handshake }
  const idempotencyKey = idempotencyKeyOf(c) ?? null
  visit.keyed = idempotencyKey !== null
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

function parsed(
  c: Context<Env>,
  rawBody: Buffer,
  { visit, ...options }: Parameters<typeof readWebhookRequest>[2] & { readonly visit: Visit },
) {
  try {
    const call = readWebhookRequest(c, rawBody, options)
    visit.request = call.request
    visit.rawBody = rawBody
    return call
  } catch (error) {
    visit.request = unreadRequest(c, rawBody, options)
    visit.rawBody = rawBody
    throw error
  }
}

/**
 * Turns an invalid input (422) into a malformed request (400), since senders of webhooks do not distinguish the two.
 */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw new FluxError({ kind: 'malformed', detail, errors })
}
