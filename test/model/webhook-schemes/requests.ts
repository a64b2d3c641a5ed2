// Requests to webhooks as a server receives them, and requests that differ from them in little.
import { gitlabScheme } from '../../../src/model/webhook-schemes/standard.ts'
import type {
  HeaderPair,
  ReceivedWebhook,
  VerifyEnv,
  VerifyRule,
  WebhookScheme,
} from '../../../src/model/webhook-schemes/scheme.ts'

/** A text as the body is sent as UTF-8. Each character of other texts is a byte. */
export const received = ({
  headers,
  body = '',
  target = '/hook',
  host = 'example.com',
}: {
  headers?: readonly HeaderPair[] | Readonly<Record<string, string>>
  body?: string | Uint8Array
  target?: string
  host?: string | null
}): ReceivedWebhook => ({
  method: 'POST',
  target,
  host,
  headers: headers === undefined ? [] : isList(headers) ? headers : Object.entries(headers),
  body: Buffer.from(body),
})

const isList = (headers: object): headers is readonly HeaderPair[] => Array.isArray(headers)

/** The time, in unix seconds. */
export const at = (seconds: number, publicUrl: string | null = null): VerifyEnv => ({
  nowMs: seconds * 1000,
  publicUrl,
})

export const withSecrets = (...secrets: string[]): VerifyRule => ({ secrets, toleranceS: 300 })

/** The request with the headers that the scheme gives it. */
export function signed(scheme: WebhookScheme, rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv) {
  const added = scheme.sign(rule, request, env)
  const replaced = new Set(added.map(([name]) => name.toLowerCase()))
  return { ...request, headers: [...request.headers.filter(([name]) => !replaced.has(name.toLowerCase())), ...added] }
}

/** The request with one header changed at any place, cut, lengthened, or missing; and those with another body. */
export function* forgeries(request: ReceivedWebhook, names: readonly string[]): Generator<ReceivedWebhook> {
  for (const [index, [name, value]] of request.headers.entries()) {
    if (!names.some((other) => other.toLowerCase() === name.toLowerCase())) continue
    const others = [...value].map(
      (c, place) => `${value.slice(0, place)}${c === '0' ? '1' : '0'}${value.slice(place + 1)}`,
    )
    for (const other of [...others, value.slice(3), value.slice(0, -3), `${value}0`, '', '\u0141'])
      yield { ...request, headers: request.headers.with(index, [name, other]) }
    yield { ...request, headers: request.headers.toSpliced(index, 1) }
    // Beside the right one.
    yield { ...request, headers: [...request.headers, [name.toUpperCase(), `${value}0`]] }
  }
}

/** The request with another body. */
export function* otherBodies(request: ReceivedWebhook): Generator<ReceivedWebhook> {
  const { body } = request
  for (const place of new Set([0, body.length >> 1, body.length - 1])) {
    const other = Buffer.from(body)
    other[place] = (other[place] ?? 0) ^ 1
    if (place >= 0 && place < body.length) yield { ...request, body: other }
  }
  for (const other of [Buffer.concat([body, Buffer.from('x')]), body.subarray(0, -1)])
    if (other.length !== body.length) yield { ...request, body: other }
}

/** A request that a provider signed. */
export interface Vector {
  readonly scheme: WebhookScheme
  readonly secret: string
  readonly request: ReceivedWebhook
  readonly env: VerifyEnv
  /** The headers that the proof consists of. */
  readonly names: readonly string[]
}

/**
 * GitLab publishes no signature. The signing token is that of its merge request 231325; the signature is from:
 * printf %s 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f.1744883645.{"object_kind":"push"}' | openssl dgst -sha256 -mac HMAC \
 *   -macopt hexkey:$(printf testtesttesttesttesttesttesttest | xxd -p -c 99) -binary | base64
 */
export const GITLAB_SIGNED: Vector = {
  scheme: gitlabScheme,
  secret: 'whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q=',
  request: received({
    headers: {
      'webhook-id': 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f',
      'webhook-timestamp': '1744883645',
      'webhook-signature': 'v1,9gD2NyTDy5YArGwEzTrbXW8D4rtNON0zr2PUTQcYJCs=',
    },
    body: '{"object_kind":"push"}',
  }),
  env: at(1744883645),
  names: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
}
