// model: what a scheme of signed webhooks is: it checks whether the sender of a request knows a secret, and signs
// requests for tests. A scheme is pure, reads the bytes as received, and never throws on a stranger's request.
import type { Json } from '../json/value.ts'

export const WEBHOOK_SCHEME_NAMES = [
  'standard',
  'github',
  'stripe',
  'slack',
  'shopify',
  'gitlab',
  'twilio',
  'hmac',
  'basic',
  'token',
] as const

export type WebhookSchemeName = (typeof WEBHOOK_SCHEME_NAMES)[number]

/** The keys of `verify` that only some schemes have. `tolerance` is for those that check the time. */
export const VERIFY_KEYS: { readonly [name in WebhookSchemeName]?: readonly string[] } = {
  hmac: ['header', 'algorithm', 'encoding', 'payload', 'prefix', 'timestampHeader'],
  token: ['header'],
  twilio: ['url'],
}

export const HEADER_NAME_PATTERN = /^[\w!#$%&'*+.^`|~-]+$/

/** Name and value; each character of the value is a byte, as Node gives them. */
export type HeaderPair = readonly [name: string, value: string]

export interface ReceivedWebhook {
  readonly method: string
  /** Path and query as received; each character is a byte. */
  readonly target: string
  /** The `Host` header; null if there is none. */
  readonly host: string | null
  /** In the order received, with repetitions. */
  readonly headers: readonly HeaderPair[]
  /** As received, before any decoding. */
  readonly body: Uint8Array
}

/** Values of `algorithm` of `hmac`. */
export const HMAC_ALGORITHMS = ['sha1', 'sha256', 'sha384', 'sha512'] as const
export type HmacAlgorithm = (typeof HMAC_ALGORITHMS)[number]

/** Values of `encoding` of `hmac`. */
export const DIGEST_ENCODINGS = ['hex', 'base64', 'base64url'] as const
export type DigestEncoding = (typeof DIGEST_ENCODINGS)[number]

/** A part of the signed content of the scheme `hmac`. */
export type PayloadPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'body' }
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'header'; readonly name: string }

/** The settings of one endpoint. */
export interface VerifyRule {
  /** Secrets of the endpoint, resolved. A proof with any of them is accepted; empty ones never are. */
  readonly secrets: readonly string[]
  /** Greatest difference between the time of a message and this server's clock, to the past and to the future. */
  readonly toleranceS: number
  /** `hmac`: where the signature is. `token`: where the token is; without it, `Authorization: Bearer`. */
  readonly header?: string | undefined
  /** `hmac`: `sha256` if absent. */
  readonly algorithm?: HmacAlgorithm | undefined
  /** `hmac`: `hex` if absent. */
  readonly encoding?: DigestEncoding | undefined
  /** `hmac`: the body alone if absent. */
  readonly payload?: readonly PayloadPart[] | undefined
  /** `hmac`: stands before the signature. */
  readonly prefix?: string | undefined
  /** `hmac`: the header with the time of the message. With it, the time is checked. */
  readonly timestampHeader?: string | undefined
  /** `twilio`: the URL that the provider calls, without the query. */
  readonly url?: string | undefined
}

/** How requests to one endpoint are verified. */
export interface WebhookVerify {
  readonly scheme: WebhookSchemeName
  /** Names of the secrets; at least one. */
  readonly secrets: readonly string[]
  /** The other settings. With the values of the secrets, they are the rule. */
  readonly rule: Omit<VerifyRule, 'secrets'>
}

/** What a scheme takes from the server. */
export interface VerifyEnv {
  readonly nowMs: number
  /** `ACTORFLUX_PUBLIC_URL`, for `twilio`: what stands before the path of a request. */
  readonly publicUrl: string | null
}

/** The answer to a request by which a provider tests the endpoint. */
export interface HandshakeAnswer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

export interface WebhookScheme {
  /** Whether the time of messages is checked, so that a tolerance has a meaning. */
  hasTime(rule: Pick<VerifyRule, 'timestampHeader'>): boolean
  /**
   * Null: the sender knows a secret. Otherwise why that is not proved, without anything that was sent: it is shown to
   * all who may list deliveries, and never to the sender. Takes time in proportion to the size of the request, for each
   * secret.
   */
  verify(rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv): string | null
  /**
   * The headers that make the request one that `verify` accepts. They replace headers of the same names.
   * @throws Error if no secret can sign, or the request cannot be signed
   */
  sign(rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv): readonly HeaderPair[]
  /** Name in lower case of the header that contains a secret itself, which must never be stored or logged. */
  proofHeader?(rule: Pick<VerifyRule, 'header'>): string
  /** The answer, if the verified request, whose decoded body is given, only tests the endpoint; null otherwise. */
  handshake?(body: Json): HandshakeAnswer | null
  /** `WWW-Authenticate` of the answer to a request without proof. */
  readonly challenge?: string
  /** Why the text cannot be a secret of the scheme; null: it can. The reason does not contain the text. */
  secretFault(secret: string): string | null
}

export const DEFAULT_TOLERANCE_SECONDS = 300

/** The reason when headers and time are as they should be. */
export const NO_SIGNATURE_FITS = 'no signature fits'

/** For texts that a scheme uses as they are. */
export const anySecret = (): null => null

/** @throws Error if there is none */
export function signingSecret(secrets: readonly string[]): string {
  const secret = secrets.find((text) => text !== '')
  if (secret === undefined) throw new Error('none of the secrets can sign')
  return secret
}
