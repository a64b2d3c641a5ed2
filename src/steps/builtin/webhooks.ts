// steps: `Webhooks.send`, an outgoing webhook that is signed by Standard Webhooks
// (github.com/standard-webhooks/standard-webhooks, spec 1.0), and `Webhooks.verify`, which checks in a service whether a
// webhook was signed so. The runtime sends its own webhooks in the same way.
import { retryHintOf, setRetryHint } from '../../model/action-error.ts'
import { messageOf } from '../../model/error-message.ts'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DEFAULT_TOLERANCE_SECONDS } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import { signingSecretFault } from '../../model/webhook-schemes/standard.ts'
import type { Flux, StepFlux, WebhookSender } from '../../ports/steps.ts'
import { headerPairs, HttpError } from './http/call.ts'
import { httpRequest, type HttpOptions } from './http/request.ts'

/** Seconds that a receiver has. */
const TIMEOUT_SECONDS = 20
/** The longest pause that a receiver may ask for: that of the schedule. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000
const GONE = 410

/** The signature does not cover these. */
const NO_REQUEST = { method: 'POST', target: '', host: null }

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
export function sendWebhook({ now = Date.now, ...options }: HttpOptions) {
  const request = httpRequest({ ...options, readsBody: false })
  return async (args: JsonObject, flux: Pick<StepFlux, 'signal' | 'messageId' | 'traceparent'>) => {
    const { url, body, timeout, secret, secrets: several } = args
    const secrets = secretsOf(several ?? secret ?? null, 'Webhooks.send', signingSecretFault)
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {})
    const type = typeof body === 'string' ? 'text/plain;charset=UTF-8' : 'application/json'
    const own = givenHeaders(args['headers'] ?? null)
    const id = await flux.messageId()
    const signed = WEBHOOK_SCHEMES.standard.sign(
      { secrets, toleranceS: DEFAULT_TOLERANCE_SECONDS },
      { ...NO_REQUEST, headers: [['webhook-id', id]], body: Buffer.from(text) },
      { nowMs: now(), publicUrl: null },
    )
    const sent = {
      method: 'POST',
      url: url ?? null,
      headers: { 'content-type': type, ...own, ...Object.fromEntries(signed) },
      body: text,
      timeout: timeout ?? TIMEOUT_SECONDS,
      followRedirects: false,
    }
    const { status, headers } = await request(sent, flux)
    if (status >= 200 && status < 300) return { id, status }
    throw new DeliveryError(status, status === GONE ? null : retryAfterOf(headers['retry-after'], now()))
  }
}

/** Sends webhooks of the runtime's own. */
export function webhookSender(options: HttpOptions): WebhookSender {
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

/** Headers of the service, by lower-case name. A content type of its own replaces the other. */
function givenHeaders(given: Json) {
  if (given !== null && !isObject(given)) throw new HttpError('"headers" of Webhooks.send must be an object')
  return Object.fromEntries(Object.entries(given ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
}

/** `Retry-After` in milliseconds (RFC 9110, 10.2.3): seconds, or a date; undefined: it says nothing. */
function retryAfterOf(value: Json | undefined, now: number) {
  if (typeof value !== 'string') return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined
}

/**
 * Verifies that the webhook that started the context was signed with one of the secrets. Arguments: `headers`
 * (`$request.headers`), `secrets` (a text or a list: `whsec_…`, plain base64, or a public key `whpk_…`; several while
 * one is being replaced), `tolerance` in seconds (300).
 * @throws Error if no webhook started the context, or an argument is invalid: both are faults of the service, not of
 * the sender
 */
export function verify(args: JsonObject, { rawBody: body }: Pick<Flux, 'rawBody'>, now = Date.now) {
  if (body === null) throw new Error('Webhooks.verify needs a context that a webhook started')
  const secrets = secretsOf(args['secrets'] ?? null, 'Webhooks.verify', WEBHOOK_SCHEMES.standard.secretFault)
  const toleranceS = toleranceOf(args['tolerance'] ?? DEFAULT_TOLERANCE_SECONDS)
  const headers = args['headers'] ?? null
  if (!Array.isArray(headers) && !isObject(headers))
    throw new Error('"headers" of Webhooks.verify must be $request.headers')
  const pairs = headerPairs(headers)
  const valuesOf = (wanted: string) => pairs.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []))
  const [id] = valuesOf('webhook-id')
  const [timestamp] = valuesOf('webhook-timestamp')
  // They may be on several lines.
  const signatures = valuesOf('webhook-signature').join(' ')
  if (!id || !timestamp || signatures.trim() === '')
    return { valid: false, reason: 'a header of the signature is missing' }
  const signed = [
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', signatures],
  ] as const
  const reason = WEBHOOK_SCHEMES.standard.verify(
    { secrets, toleranceS },
    { ...NO_REQUEST, headers: signed, body },
    { nowMs: now(), publicUrl: null },
  )
  return reason === null ? { valid: true, id, timestamp: Number(timestamp) * 1000 } : { valid: false, reason }
}

function toleranceOf(text: Json) {
  // A literal line in a service writes text.
  const given = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text
  if (typeof given === 'number' && Number.isFinite(given) && given >= 0) return given
  throw new Error('"tolerance" of Webhooks.verify must be a number of seconds, 0 or more')
}

/**
 * The secrets. Null and empty ones are ignored: a second secret may be set only during a rotation.
 * @param method whose argument it is, for errors, which repeat no secret
 */
function secretsOf(given: Json, method: string, faultOf: (secret: string) => string | null) {
  const secrets = [given].flat().filter((secret) => secret !== null && secret !== '')
  if (secrets.length === 0) throw new Error(`${method} needs secrets`)
  return secrets.map((secret) => {
    const text = typeof secret === 'string' ? secret : ''
    const fault = faultOf(text)
    if (fault !== null) throw new Error(`a secret of ${method} can't be used: ${fault}`)
    return text
  })
}
