// steps: `Webhooks.send`, an outgoing webhook that is signed by Standard Webhooks
// (github.com/standard-webhooks/standard-webhooks, spec 1.0). The runtime sends its own webhooks in the same way.
import { retryHintOf, setRetryHint } from '../../model/action-error.ts'
import { messageOf } from '../../model/error-message.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DEFAULT_TOLERANCE_SECONDS } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import { signingSecretFault } from '../../model/webhook-schemes/standard.ts'
import type { StepFlux, WebhookSender } from '../../ports/steps.ts'
import { HttpError } from './http/call.ts'
import { httpRequest } from './http/request.ts'
import { givenSecrets } from './standard-webhooks.ts'

/** Seconds that a receiver has. */
const TIMEOUT_SECONDS = 20
/** The longest pause that a receiver may ask for: that of the schedule. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000
const GONE = 410

/** Headers that are computed from the message. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['webhook-id', 'webhook-timestamp', 'webhook-signature'])

/** The receiver did not accept the message. */
class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  readonly status: number
  constructor(status: number, afterMs: number | null | undefined) {
    super(`the receiver answered ${status}`)
    this.status = status
    if (afterMs !== undefined) setRetryHint(this, { afterMs })
  }
}

/**
 * Posts a message, once. Args: `url`, `secret` or `secrets` (base64, after `whsec_` or without it, or a private key after
 * `whsk_`; several while one is being replaced), `body` (text, or data that becomes JSON), `headers`, `timeout` (20 seconds).
 * @throws HttpError, TimeoutError, ForbiddenAddress as `Http.request`; DeliveryError for any status but 2xx; Error if a
 * secret can't sign
 */
export function sendWebhook(options: { readonly allowPrivate: boolean }) {
  const request = httpRequest({ ...options, readsBody: false })
  return async (args: JsonObject, flux: Pick<StepFlux, 'signal' | 'messageId' | 'traceparent'>) => {
    const secrets = signingSecretsOf(getOwn(args, 'secrets') ?? getOwn(args, 'secret') ?? null)
    const { text, contentType } = bodyOf(getOwn(args, 'body') ?? null)
    const own = givenHeaders(getOwn(args, 'headers') ?? null)
    const hasType = own.some(({ name }) => name.toLowerCase() === 'content-type')
    const id = await flux.messageId()
    const nowMs = Date.now()
    // Each secret signs alone: `sign` uses one.
    const signed = secrets.map((secret) =>
      Object.fromEntries(
        WEBHOOK_SCHEMES.standard.sign(
          { secrets: [secret], toleranceS: DEFAULT_TOLERANCE_SECONDS },
          { method: 'POST', target: '', host: null, headers: [['webhook-id', id]], body: Buffer.from(text) },
          { nowMs, publicUrl: null },
        ),
      ),
    )
    const sent = {
      method: 'POST',
      url: getOwn(args, 'url') ?? null,
      headers: [
        ...(hasType ? [] : [{ name: 'content-type', value: contentType }]),
        ...own,
        { name: 'webhook-id', value: id },
        { name: 'webhook-timestamp', value: signed[0]?.['webhook-timestamp'] ?? '' },
        { name: 'webhook-signature', value: signed.map((one) => one['webhook-signature']).join(' ') },
      ],
      body: text,
      timeout: getOwn(args, 'timeout') ?? TIMEOUT_SECONDS,
      followRedirects: false,
    }
    const { status, headers } = await request(sent, flux)
    if (status >= 200 && status < 300) return { id, status }
    throw new DeliveryError(status, status === GONE ? null : retryAfterOf(getOwn(headers, 'retry-after')))
  }
}

/** Sends webhooks of the runtime's own. `allowPrivate`: whether receivers may have addresses that are not public. */
export function webhookSender(options: { readonly allowPrivate: boolean }): WebhookSender {
  const post = sendWebhook(options)
  return {
    async send({ url, id, secret, body, signal }) {
      const headers = { 'content-type': 'application/json' }
      try {
        await post({ url, secret, body, headers }, { signal, messageId: () => Promise.resolve(id) })
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: messageOf(error), hint: error instanceof Error ? retryHintOf(error) : undefined }
      }
    },
  }
}

/** The secrets. @throws Error that repeats none of them */
function signingSecretsOf(given: Json): string[] {
  return givenSecrets(given, 'Webhooks.send').map((secret) => {
    const fault = typeof secret === 'string' ? signingSecretFault(secret) : 'must be text'
    if (typeof secret === 'string' && fault === null) return secret
    throw new Error(`a secret of Webhooks.send can't be used: ${fault}`)
  })
}

function bodyOf(body: Json) {
  if (typeof body === 'string') return { text: body, contentType: 'text/plain;charset=UTF-8' }
  return { text: JSON.stringify(body ?? {}), contentType: 'application/json' }
}

/** Headers of the service, without those that sign. A content type of its own replaces the other. */
function givenHeaders(given: Json): { name: string; value: Json }[] {
  if (given === null) return []
  if (!isObject(given)) throw new HttpError('"headers" of Webhooks.send must be an object')
  return Object.entries(given)
    .filter(([name]) => !OWN_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => ({ name, value }))
}

/** `Retry-After` in milliseconds (RFC 9110, 10.2.3): seconds, or a date; undefined: it says nothing. */
function retryAfterOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'string') return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined
}
