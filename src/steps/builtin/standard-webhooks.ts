// steps: the signature scheme of Standard Webhooks, and `Webhooks.verify`
// (github.com/standard-webhooks/standard-webhooks, spec 1.0, symmetric signatures).
import { createHmac, timingSafeEqual } from 'node:crypto'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { Flux } from '../../ports/step-runner.ts'

/** Maximum difference between the timestamp of a message and the clock of this server. */
const TOLERANCE_SECONDS = 300

type Verification = { valid: true; id: string; timestamp: number } | { valid: false; reason: string }

/**
 * Verifies that the webhook that started the context was signed with one of the secrets. Arguments: `headers`
 * (`$request.headers`), `secrets` (a text or a list, `whsec_…` or plain base64; several while one is being replaced),
 * `tolerance` in seconds (300).
 * @throws Error if no webhook started the context, or an argument is invalid: both are faults of the service, not of
 * the sender
 */
export function verify(args: JsonObject, { rawBody }: Pick<Flux, 'rawBody'>): Verification {
  if (rawBody === null) throw new Error('Webhooks.verify needs a context that a webhook started')
  const secrets = secretsOf(getOwn(args, 'secrets') ?? null, 'Webhooks.verify')
  const tolerance = toleranceOf(getOwn(args, 'tolerance') ?? TOLERANCE_SECONDS)
  const headers = getOwn(args, 'headers') ?? null
  if (!Array.isArray(headers) && !isObject(headers))
    throw new Error('"headers" of Webhooks.verify must be $request.headers')
  const [[id], [timestamp], signatures] = [
    headersOf(headers, 'webhook-id'),
    headersOf(headers, 'webhook-timestamp'),
    headersOf(headers, 'webhook-signature'),
  ]
  if (!id || !timestamp || signatures.every((line) => line === ''))
    return refuse('a header of the signature is missing')
  const seconds = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  const age = Date.now() / 1000 - seconds
  if (!(Math.abs(age) <= tolerance))
    return refuse(
      Number.isNaN(age)
        ? 'the timestamp is malformed'
        : age > 0
          ? 'the message is too old'
          : 'the message is from the future',
    )
  const known = secrets.map((secret) => signatureOf(secret, { id, timestamp }, rawBody))
  // All signatures are compared with all digests, so that the time taken reveals nothing.
  let valid = false
  for (const signature of signatures.join(' ').split(' ')) {
    const [version, text = ''] = signature.split(',', 2)
    if (version !== 'v1') continue
    const given = Buffer.from(text, 'base64')
    for (const digest of known) if (given.length === digest.length && timingSafeEqual(given, digest)) valid = true
  }
  return valid ? { valid, id, timestamp: seconds * 1000 } : refuse('no signature fits')
}

/** The signature of a message, version 1. `body`: as it is sent. */
export const signatureOf = (
  secret: Buffer,
  { id, timestamp }: { readonly id: string; readonly timestamp: string },
  body: Uint8Array | string,
): Buffer => createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest()

const refuse = (reason: string): Verification => ({ valid: false, reason })

function toleranceOf(text: Json): number {
  // A literal line in a service writes text.
  const given = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text
  if (typeof given !== 'number' || !Number.isFinite(given) || given < 0)
    throw new Error('"tolerance" of Webhooks.verify must be a number of seconds, 0 or more')
  return given
}

/**
 * The decoded secrets. Null and empty ones are ignored: a second secret may be set only during a rotation.
 * @param method whose argument it is, for the error
 */
export function secretsOf(given: Json, method: string): Buffer[] {
  const secrets = (Array.isArray(given) ? given : [given]).filter((secret) => secret !== null && secret !== '')
  if (secrets.length === 0) throw new Error(`${method} needs secrets`)
  return secrets.map((secret) => {
    const text = typeof secret === 'string' ? secret.replace(/^whsec_/, '') : ''
    // Node ignores characters that are not base64, and then no signature would ever match.
    if (!BASE64.test(text) || (text.includes('=') ? text.indexOf('=') : text.length) % 4 === 1)
      throw new Error(`"secrets" of ${method} must be base64, after "whsec_" or without it`)
    return Buffer.from(text, 'base64')
  })
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * The values of all headers of that name, in a list of `{ name, value }` or an object. Names are not case-sensitive.
 */
function headersOf(headers: Json, name: string): string[] {
  const entries = Array.isArray(headers)
    ? headers.flatMap((entry) => (isObject(entry) ? [[entry['name'], entry['value']] as const] : []))
    : isObject(headers)
      ? Object.entries(headers)
      : []
  const values = entries.flatMap(([key, value]) =>
    typeof key === 'string' && key.toLowerCase() === name ? (value ?? []) : [],
  )
  return values.filter((value) => typeof value === 'string')
}
