// actions: `Webhooks.verify`, the signature scheme of Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec 1.0, symmetric signatures).
import { createHmac, timingSafeEqual } from 'node:crypto'
import { getOwn, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { Flux } from '../ports/step-runner.ts'

/** Seconds that a message may be old, or ahead of our clock. */
const TOLERANCE = 300

type Verdict = { valid: true; id: string; timestamp: number } | { valid: false; reason: string }

/**
 * Whether the webhook that started the context was signed with one of the secrets. Arguments: `headers` (`$request.headers`), `secrets` (a text or a list,
 * `whsec_…` or plain base64; several while one is being replaced), `tolerance` in seconds (300).
 * @throws Error when no webhook started the context, or there is no secret: that is a fault of the service, not of the sender
 */
export function verify(args: JsonObject, { rawBody }: Pick<Flux, 'rawBody'>): Verdict {
  if (rawBody === null) throw new Error('Webhooks.verify needs a context that a webhook started')
  const secrets = secretsOf(getOwn(args, 'secrets') ?? null)
  const tolerance = Number(getOwn(args, 'tolerance') ?? TOLERANCE)
  const headers = getOwn(args, 'headers') ?? null
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name))
  if (!id || !timestamp || !signatures) return refuse('a header of the signature is missing')
  const seconds = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  const age = Date.now() / 1000 - seconds
  if (!(Math.abs(age) <= tolerance)) return refuse(Number.isNaN(age) ? 'the timestamp is malformed' : age > 0 ? 'the message is too old' : 'the message is from the future')
  const known = secrets.map((secret) => createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(rawBody).digest())
  // All are compared with all, so that the time taken tells nothing.
  let valid = false
  for (const signature of signatures.split(' ')) {
    const [version, text = ''] = signature.split(',', 2)
    if (version !== 'v1') continue
    const given = Buffer.from(text, 'base64')
    for (const digest of known) if (given.length === digest.length && timingSafeEqual(given, digest)) valid = true
  }
  return valid ? { valid, id, timestamp: seconds * 1000 } : refuse('no signature fits')
}

const refuse = (reason: string): Verdict => ({ valid: false, reason })

function secretsOf(given: Json): Buffer[] {
  const texts = (Array.isArray(given) ? given : [given]).filter((secret) => typeof secret === 'string' && secret !== '')
  if (texts.length === 0) throw new Error('Webhooks.verify needs secrets')
  return texts.map((secret) => {
    const key = Buffer.from(String(secret).replace(/^whsec_/, ''), 'base64')
    if (key.length === 0) throw new Error('a secret of Webhooks.verify is not base64')
    return key
  })
}

/** From a list of {name, value}, or an object; without regard to case. */
function headerOf(headers: Json, name: string): string | null {
  const entries = Array.isArray(headers) ? headers.flatMap((entry) => (isObject(entry) ? [[entry['name'], entry['value']] as const] : []))
    : isObject(headers) ? Object.entries(headers) : []
  const value = entries.find(([key]) => typeof key === 'string' && key.toLowerCase() === name)?.[1]
  return typeof value === 'string' ? value : null
}
