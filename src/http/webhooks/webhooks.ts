// http: serves the webhooks under /api: finds them by method and path, starts their services with the request, and
// answers with the result.
import type { Context, Hono } from 'hono'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { FluxError, malformed, type Failure } from '../../model/failure.ts'
import { isSecretName } from '../../model/secret-names.ts'
import type { Delivery, Endpoint, FoundEndpoint, WebhookAnswer, WebhookApi, WebhookReply } from '../../model/webhook.ts'
import type { Log } from '../../ports/log.ts'
import { pathShown, shownPath } from '../socket/access-log.ts'
import type { BodyAdmission } from '../request/body.ts'
import { answerFormat, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import type { Answers } from '../answers/answers.ts'
import { isDisguised, rawPathOf, WEBHOOKS } from '../request/paths.ts'
import { bodyOf, responseOf, type ResponseBody } from './response.ts'
import { UnsafeResponse } from './response-fields.ts'
import { readWebhookRequest, type WebhookLimits, type WebhookRequest } from './request.ts'
import { settlementOf } from './settlement.ts'

export interface WebhookOptions extends WebhookLimits, BodyAdmission {
  readonly webhooks: WebhookApi
  /** Milliseconds after which a webhook is answered with 504, unless it has a `timeout` of its own. */
  readonly webhookTimeout: number
  /**
   * Budget for callers that wait for an answer. It is separate from that of requests, because otherwise the events that
   * they wait for might be refused.
   */
  readonly waiting: ByteBudget
  readonly log: Log
  readonly answers: Answers
}

/** Bytes of memory that a waiting caller takes: a connection, and the state of its context. */
const WAITING_BYTES = 16 * 1024

export function addWebhooks(
  app: Hono<Env>,
  { webhooks, webhookTimeout, waiting, log, inFlight, answers, ...limits }: WebhookOptions,
): void {
  const receive = async (c: Context<Env>, delivered: Delivered): Promise<Response> => {
    const found = findEndpoint(webhooks, c)
    if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
    if ('allow' in found)
      throw new FluxError({
        kind: 'wrongMethod',
        detail: `this webhook takes ${found.allow.join(', ')}`,
        allow: found.allow,
      })
    const { endpoint, parameters } = found
    if (hasSecret(endpoint)) shownPath(c, WEBHOOKS + endpoint.urlPath)
    const arrival = { endpoint, ...webhooks.arrival() }
    delivered.arrival = arrival
    const timeout = endpoint.timeout ?? webhookTimeout
    const format = answerFormat(headerOf(c, 'accept')) ?? JSON_FORMAT
    const endWaiting = waiting.take(WAITING_BYTES)
    const hold = inFlight.hold()
    try {
      // Passed on without a variable: once the context is stored, a waiting caller keeps nothing of the request in
      // memory.
      const reply = await readWebhookRequest(c, { path: parameters, timeout, limits, charge: hold.resize }).then(
        (call) => {
          delivered.read = call
          const onStarted = () => {
            delivered.read = null
            hold.release()
          }
          return webhooks
            .receive({ ...call, ...arrival, timeout, idempotencyKey: null, replayOf: null, onStarted })
            .catch(asBadRequest)
        },
      )
      const response = await respond(c, reply.answer, { format, log, answers })
      settle(c, webhooks, delivered, reply)
      return response
    } finally {
      hold.release()
      endWaiting()
    }
  }
  app.all(`${WEBHOOKS}/*`, async (c) => {
    const delivered: Delivered = { arrival: null, read: null }
    try {
      return await receive(c, delivered)
    } catch (error) {
      if (error instanceof FluxError) settle(c, webhooks, delivered, error.failure)
      throw error
    }
  })
}

/** A request to an endpoint, as far as it has come. */
interface Delivered {
  arrival: Pick<Delivery, 'deliveryId' | 'endpoint' | 'time'> | null
  /** null: it is not read yet, or its context is stored, with all of it. */
  read: WebhookRequest | null
}

function settle(
  c: Context<Env>,
  webhooks: WebhookApi,
  { arrival, read }: Delivered,
  result: WebhookReply | Failure,
): void {
  if (arrival === null) return
  webhooks.settled({
    ...arrival,
    ...settlementOf(result),
    method: c.req.method,
    path: pathShown(c),
    duration: webhooks.arrival().time - arrival.time,
    replayOf: null,
    request: read?.request ?? null,
    rawBody: read?.rawBody ?? null,
  })
}

/** Whether the path has a parameter whose name indicates a secret. */
const hasSecret = ({ urlPath }: Endpoint): boolean =>
  urlPath.split('/').some((segment) => segment.startsWith('{') && isSecretName(segment))

/** The endpoint of a request. null: there is none, or a literal segment of its path was sent with needless escapes. */
function findEndpoint(webhooks: WebhookApi, c: Context<Env>): FoundEndpoint | null {
  const raw = rawPathOf(c.req.url)
    .slice(WEBHOOKS.length + 1)
    .split('/')
  const segments = decoded(raw)
  const found = webhooks.find(c.req.method, segments)
  if (found === null || !raw.some(isDisguised)) return found
  const shown = 'allow' in found ? webhooks.find(found.allow[0] ?? '', segments) : found
  if (shown === null || 'allow' in shown) return null
  const {
    endpoint: { urlPath },
    parameters,
  } = shown
  const own = urlPath.slice(1).split('/')
  const isParameter = (segment = '') => segment.startsWith('{') && parameters.has(segment.slice(1, -1))
  return raw.every((segment, index) => !isDisguised(segment) || isParameter(own[index])) ? found : null
}

/** Decodes each segment once. @throws FluxError `malformed` */
function decoded(segments: readonly string[]): string[] {
  try {
    return segments.map(decodeURIComponent)
  } catch {
    throw malformed('the path has a malformed escape')
  }
}

function contentSent(
  c: Context<Env>,
  content: ResponseBody['content'],
  { init, answers }: { init: ResponseBody['init']; answers: Answers },
): Response | Promise<Response> {
  if (content === null) return new Response(null, init)
  return 'bytes' in content
    ? answers.bytes(c, content.bytes, init)
    : answers.send(c, content.value, content.pieces, init)
}

/**
 * Turns an invalid input (422) into a malformed request (400), since senders of webhooks do not distinguish the two.
 */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw new FluxError({ kind: 'malformed', detail, errors })
}

async function respond(
  c: Context<Env>,
  answer: WebhookAnswer,
  { format, log, answers }: { format: Codec; log: Log; answers: Answers },
): Promise<Response> {
  const send = ({ content, init }: ResponseBody) => contentSent(c, content, { init, answers })
  switch (answer.kind) {
    case 'response': {
      const { contextId } = answer
      try {
        return await send(responseOf(answer.response, format))
      } catch (error) {
        if (!(error instanceof UnsafeResponse)) throw error
        log.error("the answer of a webhook can't be sent", {
          contextId,
          path: pathShown(c),
          reason: error.message,
        })
        throw new FluxError({
          kind: 'webhookFailed',
          detail: "the workflow gave an answer that can't be sent",
          contextId,
        })
      }
    }
    case 'outputs':
      return send(bodyOf(answer.value, { status: 200, headers: [], format, always: true }))
    case 'nothing':
    case 'filtered':
      return new Response(null, { status: 204 })
    case 'paused':
    case 'accepted': {
      const { contextId, status } = answer
      const location = `/flux-api/context?contextId=${contextId}`
      return send(bodyOf({ contextId, status }, { status: 202, headers: [['Location', location]], format }))
    }
    case 'running':
      return send(bodyOf({ contextId: answer.contextId }, { status: 202, headers: [], format }))
    case 'sent': {
      const { eventId, contextIds } = answer
      return send(bodyOf({ eventId, contextIds: [...contextIds] }, { status: 200, headers: [], format }))
    }
    case 'failed': {
      const { contextId, reason } = answer
      log.warn('the workflow behind a webhook failed', { contextId, path: pathShown(c), reason })
      throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow failed', contextId })
    }
    case 'late':
      throw new FluxError({
        kind: 'webhookTimeout',
        detail: 'the workflow did not finish in time, and continues',
        contextId: answer.contextId,
      })
  }
}
