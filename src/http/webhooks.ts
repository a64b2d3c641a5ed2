// http: the webhooks under /api: found by method and path, called with what the request holds, answered as the workflow says.
import type { Context, Hono } from 'hono'
import type { ByteBudget } from '../model/byte-budget.ts'
import { FluxError, malformed } from '../model/failure.ts'
import type { WebhookAnswer, WebhookApi } from '../model/webhook.ts'
import type { Log } from '../ports/log.ts'
import type { Admission } from './body.ts'
import { FORMATS, JSON_FORMAT, type Codec } from './formats.ts'
import { headerOf, type Env } from './incoming.ts'
import { negotiate } from './negotiate.ts'
import { bodyOf, responseOf, UnsafeResponse } from './webhook-answer.ts'
import { readWebhookRequest, type WebhookLimits } from './webhook-request.ts'

export interface WebhookOptions extends WebhookLimits, Admission {
  readonly webhooks: WebhookApi
  /** Milliseconds until a webhook is answered that doesn't say so itself. */
  readonly webhookTimeout: number
  /** For callers who wait for an answer: apart from requests, or the events would be refused that end their waiting. */
  readonly waiting: ByteBudget
  readonly log: Log
}

const PREFIX = '/api'

/** Bytes of memory that a caller takes who waits for an answer: a connection, and what is told of its context. */
const WAITING_BYTES = 16 * 1024

export function addWebhooks(app: Hono<Env>, { webhooks, webhookTimeout, waiting, log, inFlight, ...limits }: WebhookOptions): void {
  app.all(`${PREFIX}/*`, async (c) => {
    const found = webhooks.find(c.req.method, segmentsOf(c.req.url))
    if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
    if ('allow' in found) throw new FluxError({ kind: 'wrongMethod', detail: `this webhook takes ${found.allow.join(', ')}`, allow: found.allow })
    const { endpoint, parameters } = found
    const timeout = endpoint.timeout ?? webhookTimeout
    const endWaiting = waiting.take(WAITING_BYTES)
    const hold = inFlight.hold()
    try {
      // Handed on and not kept: once the context is stored, a caller who waits holds nothing of what was sent.
      const answer = await readWebhookRequest(c, { path: parameters, timeout, limits, charge: hold.resize })
        .then((call) => webhooks.receive({ ...call, endpoint, timeout, onStarted: hold.release }).catch(asBadRequest))
      const format = negotiate(headerOf(c, 'accept'), FORMATS) ?? JSON_FORMAT
      return await respond(c, answer, { format, log })
    } finally {
      hold.release()
      endWaiting()
    }
  })
}

/** Decoded once. */
function segmentsOf(url: string): string[] {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const end = url.slice(start).search(/[?#]/)
  const path = url.slice(start, end === -1 ? undefined : start + end)
  try {
    return path.slice(PREFIX.length + 1).split('/').map(decodeURIComponent)
  } catch {
    throw malformed('the path has a malformed escape')
  }
}

/** What a provider sent doesn't fit: to it that is one and the same as a malformed request. */
function asBadRequest(error: unknown): never {
  if (!(error instanceof FluxError) || error.failure.kind !== 'invalid') throw error
  const { detail, errors } = error.failure
  throw new FluxError({ kind: 'malformed', detail, errors })
}

async function respond(c: Context<Env>, answer: WebhookAnswer, { format, log }: { format: Codec; log: Log }): Promise<Response> {
  const { contextId } = answer
  switch (answer.kind) {
    case 'response':
      try {
        return await responseOf(answer.response, format)
      } catch (error) {
        if (!(error instanceof UnsafeResponse)) throw error
        log.error('what a webhook was to answer can\'t be sent', { contextId, path: c.req.path, reason: error.message })
        throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow gave an answer that can\'t be sent', contextId })
      }
    case 'outputs': return bodyOf(answer.value, { status: 200, headers: [], format, always: true })
    case 'nothing': return new Response(null, { status: 204 })
    case 'paused': return bodyOf({ contextId, status: answer.status }, { status: 202, headers: [['Location', `/flux-api/context?contextId=${contextId}`]], format })
    case 'failed':
      log.warn('the workflow behind a webhook failed', { contextId, path: c.req.path, reason: answer.reason })
      throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow failed', contextId })
    case 'late': throw new FluxError({ kind: 'webhookTimeout', detail: 'the workflow takes longer than this request may: it runs on', contextId })
  }
}
