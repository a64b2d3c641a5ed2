// http: the webhooks under /api: found by method and path, called with what the request holds, answered as the workflow says.
import type { Context, Hono } from 'hono'
import { FluxError, malformed } from '../model/failure.ts'
import { isSecretName } from '../model/secret-names.ts'
import type { Endpoint, WebhookAnswer, WebhookApi } from '../model/webhook.ts'
import type { Log } from '../ports/log.ts'
import { pathShown, showPath } from './access-log.ts'
import { FORMATS, JSON_FORMAT, type Codec } from './formats.ts'
import { headerOf, type Env } from './incoming.ts'
import { negotiate } from './negotiate.ts'
import { statusOf } from './problem.ts'
import { bodyOf, responseOf, UnsafeResponse } from './webhook-answer.ts'
import { readWebhookRequest, type WebhookLimits } from './webhook-request.ts'

export interface WebhookOptions extends WebhookLimits {
  readonly webhooks: WebhookApi
  /** Milliseconds until a webhook is answered that doesn't say so itself. */
  readonly webhookTimeout: number
  readonly log: Log
}

const PREFIX = '/api'

export function addWebhooks(app: Hono<Env>, { webhooks, webhookTimeout, log, ...limits }: WebhookOptions): void {
  const receive = async (c: Context<Env>, seen: (endpoint: Endpoint) => void): Promise<Response> => {
    const found = webhooks.find(c.req.method, segmentsOf(c.req.url))
    if (found === null) throw new FluxError({ kind: 'noRoute', detail: 'no webhook is at this path' })
    if ('allow' in found) throw new FluxError({ kind: 'wrongMethod', detail: `this webhook takes ${found.allow.join(', ')}`, allow: found.allow })
    const { endpoint, parameters } = found
    seen(endpoint)
    const timeout = endpoint.timeout ?? webhookTimeout
    const { request, rawBody, textsOf } = await readWebhookRequest(c, { path: parameters, timeout, limits })
    const answer = await webhooks.receive({ endpoint, request, rawBody, textsOf, timeout }).catch(asBadRequest)
    const format = negotiate(headerOf(c, 'accept'), FORMATS) ?? JSON_FORMAT
    return respond(c, answer, { format, log })
  }
  app.all(`${PREFIX}/*`, async (c) => {
    let endpoint: Endpoint | null = null
    try {
      return await receive(c, (found) => {
        endpoint = found
        if (hasSecret(found)) showPath(c, PREFIX + found.urlPath)
      })
    } catch (error) {
      const failure = error instanceof FluxError && statusOf(error.failure) < 500 ? error.failure : null
      if (failure) webhooks.refused({ endpoint, method: c.req.method, path: pathShown(c), failure })
      throw error
    }
  })
}

/** Whether a path has a parameter that says that it is a secret. */
const hasSecret = ({ urlPath }: Endpoint): boolean => urlPath.split('/').some((segment) => segment.startsWith('{') && isSecretName(segment))

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
        log.error('what a webhook was to answer can\'t be sent', { contextId, path: pathShown(c), reason: error.message })
        throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow gave an answer that can\'t be sent', contextId })
      }
    case 'outputs': return bodyOf(answer.value, { status: 200, headers: [], format, always: true })
    case 'nothing': return new Response(null, { status: 204 })
    case 'paused': return bodyOf({ contextId, status: answer.status }, { status: 202, headers: [['Location', `/flux-api/context?contextId=${contextId}`]], format })
    case 'failed':
      log.warn('the workflow behind a webhook failed', { contextId, path: pathShown(c), reason: answer.reason })
      throw new FluxError({ kind: 'webhookFailed', detail: 'the workflow failed', contextId })
    case 'late': throw new FluxError({ kind: 'webhookTimeout', detail: 'the workflow takes longer than this request may: it runs on', contextId })
  }
}
