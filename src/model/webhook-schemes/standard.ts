// model: the scheme of Standard Webhooks, with shared secrets (v1) and public keys (v1a), and that of GitLab, which uses it.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
// https://docs.gitlab.com/user/project/integrations/webhooks/
import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import {
  decodeDigest,
  decodeKey,
  hmacOf,
  isOneOf,
  isSignedByOne,
  rawBytes,
  readSingleHeader,
  secondsOf,
  timeFault,
} from './proofs.ts'
import {
  MAX_SIGNATURES,
  NO_SIGNATURE_FITS,
  signingSecret,
  type ReceivedWebhook,
  type VerifyEnv,
  type VerifyRule,
  type WebhookScheme,
} from './scheme.ts'

/** Begins the text of a shared secret; there, it may be absent. */
const SHARED_SECRET_PREFIX = 'whsec_'
const PUBLIC_KEY_PREFIX = 'whpk_'
const PRIVATE_KEY_PREFIX = 'whsk_'
const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/**
 * Most checks of a signature with a public key for one request: each is a pass over the body, which a stranger has made
 * for the price of a signature. Two signatures are always checked, as senders give while a key is being replaced.
 */
const MAX_CHECKS = 16
const MIN_CHECKED = 2

export const standardScheme: WebhookScheme = {
  hasTime: () => true,

  verify({ secrets, toleranceS }, request, { nowMs }) {
    const id = readSingleHeader(request, 'webhook-id')
    const timestamp = readSingleHeader(request, 'webhook-timestamp')
    const list = readSingleHeader(request, 'webhook-signature')
    if (id.fault !== null) return id.fault
    if (isAmbiguous(id.value)) return AMBIGUOUS
    if (timestamp.fault !== null) return timestamp.fault
    if (list.fault !== null) return list.fault
    const late = timeFault(timestamp.value, toleranceS, nowMs)
    if (late !== null) return late
    const signatures = signaturesIn(list.value)
    if (signatures.shared.length + signatures.public.length > MAX_SIGNATURES)
      return `there are more than ${MAX_SIGNATURES} signatures`
    const publicKeys = signatures.public.length === 0 ? [] : secrets.flatMap((secret) => publicKey(secret) ?? [])
    if (signatures.public.length > Math.max(MIN_CHECKED, Math.floor(MAX_CHECKS / publicKeys.length)))
      return `there are too many signatures for ${publicKeys.length} public keys`
    const content = contentOf(id.value, timestamp.value, request)
    const keys = secrets.flatMap((secret) => sharedKey(secret) ?? [])
    const isShared = isSignedByOne(signatures.shared, 'sha256', keys, content)
    const isPublic = isSignedBy(publicKeys, signatures.public, content)
    return isShared || isPublic ? null : NO_SIGNATURE_FITS
  },

  /** A private key, `whsk_…`, signs as v1a. An id that the request has is kept. */
  sign({ secrets }: VerifyRule, request: ReceivedWebhook, { nowMs }: VerifyEnv) {
    const secret = signingSecret(secrets, (text) => sharedKey(text) !== null || privateKey(text) !== null)
    const given = readSingleHeader(request, 'webhook-id')
    const id = given.fault === null ? given.value : `msg_${randomBytes(16).toString('hex')}`
    if (isAmbiguous(id)) throw new Error(AMBIGUOUS)
    const timestamp = String(secondsOf(nowMs))
    const content = contentOf(id, timestamp, request)
    const key = privateKey(secret)
    const signature = key
      ? `v1a,${sign(null, Buffer.concat(content), key).toString('base64')}`
      : `v1,${hmacOf('sha256', sharedKey(secret) ?? '', content).toString('base64')}`
    return [
      ['webhook-id', id],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', signature],
    ]
  },

  secretFault(secret) {
    if (secret.startsWith(PUBLIC_KEY_PREFIX))
      return publicKey(secret) ? null : 'after "whpk_" must stand the base64 of the 32 bytes of an Ed25519 public key'
    if (secret.startsWith(PRIVATE_KEY_PREFIX)) return 'a private key is for the sender: the receiver has the public key'
    return sharedKey(secret) ? null : 'must be base64, after "whsec_" or without it'
  },
}

/** Why the text can't sign; null: it can. The reason does not contain the text. */
export function signingSecretFault(secret: string): string | null {
  if (secret.startsWith(PUBLIC_KEY_PREFIX)) return 'a public key can check signatures, and make none'
  if (secret.startsWith(PRIVATE_KEY_PREFIX))
    return privateKey(secret)
      ? null
      : 'after "whsk_" must stand the base64 of the 32 or 64 bytes of an Ed25519 private key'
  return sharedKey(secret) ? null : 'must be base64, after "whsec_" or without it, or a private key after "whsk_"'
}

/** Whether the signature could be that of another id, with a part of this one moved into the body. */
const isAmbiguous = (id: string): boolean => id.includes('.')
const AMBIGUOUS = 'the header "webhook-id" has a period'

const contentOf = (id: string, timestamp: string, { body }: ReceivedWebhook): Uint8Array[] => [
  rawBytes(`${id}.${timestamp}.`),
  body,
]

/** The signatures of versions v1 and v1a, decoded. Others, and what is no base64, are passed over. */
function signaturesIn(list: string): { readonly shared: Buffer[]; readonly public: Buffer[] } {
  const found = { shared: [] as Buffer[], public: [] as Buffer[] }
  for (const item of list.split(' ')) {
    const version = item.startsWith('v1,') ? 'shared' : item.startsWith('v1a,') ? 'public' : null
    if (version === null) continue
    const bytes = decodeDigest(item.slice(item.indexOf(',') + 1), 'base64')
    if (bytes && (version === 'shared' || bytes.length === SIGNATURE_BYTES)) found[version].push(bytes)
  }
  return found
}

/** The key of v1; null for a key of v1a, and for a malformed one. */
const sharedKey = (secret: string): Buffer | null =>
  decodeKey(secret.startsWith(SHARED_SECRET_PREFIX) ? secret.slice(SHARED_SECRET_PREFIX.length) : secret)

/** Whether one of the signatures of v1a is of one of the keys. */
function isSignedBy(
  keys: readonly KeyObject[],
  signatures: readonly Buffer[],
  content: readonly Uint8Array[],
): boolean {
  if (keys.length === 0) return false
  const data = Buffer.concat(content)
  let found = false
  for (const key of keys) for (const signature of signatures) if (verify(null, data, key, signature)) found = true
  return found
}

function publicKey(secret: string): KeyObject | null {
  const bytes = secret.startsWith(PUBLIC_KEY_PREFIX) ? decodeKey(secret.slice(PUBLIC_KEY_PREFIX.length)) : null
  if (bytes?.length !== KEY_BYTES) return null
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' })
}

/** What stands before the seed in PKCS #8 (RFC 8410, 7). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The seed of 32 bytes, or the seed and the public key. */
function privateKey(secret: string): KeyObject | null {
  const bytes = secret.startsWith(PRIVATE_KEY_PREFIX) ? decodeKey(secret.slice(PRIVATE_KEY_PREFIX.length)) : null
  if (bytes?.length !== KEY_BYTES && bytes?.length !== 2 * KEY_BYTES) return null
  const key = Buffer.concat([PKCS8_START, bytes.subarray(0, KEY_BYTES)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

const GITLAB_TOKEN = 'X-Gitlab-Token'

/**
 * The secret token itself in a header, or a signing token, with which GitLab signs by Standard Webhooks. A hook may have
 * both, and then either proves the sender.
 */
export const gitlabScheme: WebhookScheme = {
  hasTime: () => true,

  verify(rule, request, env) {
    const tokens = rule.secrets.filter((secret) => !isSigningToken(secret))
    const header = readSingleHeader(request, GITLAB_TOKEN)
    if (header.fault !== null && !header.isAbsent) return header.fault
    const isToken = header.fault === null && isOneOf(rawBytes(header.value), tokens)
    // Without signing tokens, there is nothing that the other headers could prove.
    const signing = signingTokens(rule)
    const unsigned = signing.secrets.length === 0 ? null : standardScheme.verify(signing, request, env)
    if (isToken || (signing.secrets.length > 0 && unsigned === null)) return null
    if (tokens.length === 0 && unsigned !== null) return unsigned
    const wrong = header.fault ?? 'the token is wrong'
    return unsigned === null ? wrong : `${wrong}, and ${unsigned}`
  },

  sign(rule, request, env) {
    const secret = signingSecret(rule.secrets)
    return isSigningToken(secret)
      ? standardScheme.sign(signingTokens(rule), request, env)
      : [[GITLAB_TOKEN, Buffer.from(secret).toString('latin1')]]
  },

  proofHeader: () => GITLAB_TOKEN.toLowerCase(),

  secretFault: (secret) => (isSigningToken(secret) ? standardScheme.secretFault(secret) : null),
}

const isSigningToken = (secret: string): boolean => secret.startsWith(SHARED_SECRET_PREFIX)

const signingTokens = (rule: VerifyRule): VerifyRule => ({ ...rule, secrets: rule.secrets.filter(isSigningToken) })
