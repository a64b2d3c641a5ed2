// steps: `Webhooks.verify`, which checks in a service whether a webhook was signed by Standard Webhooks.
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { DEFAULT_TOLERANCE_SECONDS } from '../../model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../model/webhook-schemes/schemes.ts'
import type { Flux } from '../../ports/steps.ts'

type Verification = { valid: true; id: string; timestamp: number } | { valid: false; reason: string }

/**
 * Verifies that the webhook that started the context was signed with one of the secrets. Arguments: `headers`
 * (`$request.headers`), `secrets` (a text or a list: `whsec_…`, plain base64, or a public key `whpk_…`; several while
 * one is being replaced), `tolerance` in seconds (300).
 * @throws Error if no webhook started the context, or an argument is invalid: both are faults of the service, not of
 * the sender
 */
export function verify(args: JsonObject, { rawBody }: Pick<Flux, 'rawBody'>): Verification {
  if (rawBody === null) throw new Error('Webhooks.verify needs a context that a webhook started')
  const secrets = verifyingSecretsOf(getOwn(args, 'secrets') ?? null)
  const toleranceS = toleranceOf(getOwn(args, 'tolerance') ?? DEFAULT_TOLERANCE_SECONDS)
  const headers = getOwn(args, 'headers') ?? null
  if (!Array.isArray(headers) && !isObject(headers))
    throw new Error('"headers" of Webhooks.verify must be $request.headers')
  const [id] = headersOf(headers, 'webhook-id')
  const [timestamp] = headersOf(headers, 'webhook-timestamp')
  const signatures = headersOf(headers, 'webhook-signature')
  if (!id || !timestamp || signatures.every((line) => line === ''))
    return { valid: false, reason: 'a header of the signature is missing' }
  const signed = {
    method: 'POST',
    target: '',
    host: null,
    // The signatures may be on several lines.
    headers: [
      ['webhook-id', id],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', signatures.join(' ')],
    ],
    body: rawBody,
  } as const
  const reason = WEBHOOK_SCHEMES.standard.verify({ secrets, toleranceS }, signed, {
    nowMs: Date.now(),
    publicUrl: null,
  })
  return reason === null ? { valid: true, id, timestamp: Number(timestamp) * 1000 } : { valid: false, reason }
}

function toleranceOf(text: Json): number {
  // A literal line in a service writes text.
  const given = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text
  if (typeof given !== 'number' || !Number.isFinite(given) || given < 0)
    throw new Error('"tolerance" of Webhooks.verify must be a number of seconds, 0 or more')
  return given
}

/**
 * The secrets. Null and empty ones are ignored: a second secret may be set only during a rotation.
 * @param method whose argument it is, for the error
 */
export function givenSecrets(given: Json, method: string): Json[] {
  const secrets = (Array.isArray(given) ? given : [given]).filter((secret) => secret !== null && secret !== '')
  if (secrets.length === 0) throw new Error(`${method} needs secrets`)
  return secrets
}

const verifyingSecretsOf = (given: Json): string[] =>
  givenSecrets(given, 'Webhooks.verify').map((secret) => {
    if (typeof secret !== 'string' || WEBHOOK_SCHEMES.standard.secretFault(secret) !== null)
      throw new Error(
        '"secrets" of Webhooks.verify must be base64, after "whsec_" or without it, or public keys after "whpk_"',
      )
    return secret
  })

/**
 * The values of all headers of that name, in a list of `{ name, value }` or an object. Names are not case-sensitive.
 */
function headersOf(headers: Json[] | JsonObject, name: string): string[] {
  const entries = Array.isArray(headers)
    ? headers.filter(isObject)
    : Object.entries(headers).map(([key, value]) => ({ name: key, value }))
  return entries
    .filter((entry) => typeof entry['name'] === 'string' && entry['name'].toLowerCase() === name)
    .flatMap(({ value = [] }) => value)
    .filter((value) => typeof value === 'string')
}
