// model: the scheme of Standard Webhooks, with shared secrets (v1) and public keys (v1a), and that of GitLab, which uses it.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
// https://docs.gitlab.com/user/project/integrations/webhooks/
import { createPrivateKey, createPublicKey, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import { tokenScheme } from './credentials.ts'
import { readSigned, signaturesIn, type SignatureForm } from './hmac.ts'
import { headerOf, hmacOf, isSignedByOne, NoProof, optionalHeader, proof, rawBytes, secondsOf } from './proofs.ts'
import { NO_SIGNATURE_FITS, signingSecret, type VerifyRule, type WebhookScheme } from './scheme.ts'

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

const FORM: SignatureForm = {
  header: 'webhook-signature',
  separator: ' ',
  timestampHeader: 'webhook-timestamp',
  payload: [
    { kind: 'header', name: 'webhook-id' },
    { kind: 'text', text: '.' },
    { kind: 'timestamp' },
    { kind: 'text', text: '.' },
    { kind: 'body' },
  ],
}

export const standardScheme: WebhookScheme = {
  hasTime: () => true,

  verify: proof((rule, request, env) => {
    checkId(headerOf(request, 'webhook-id'))
    const { parts, contents } = readSigned(FORM, rule, request, env)
    // Other versions, and what is no base64, are passed over.
    const shared = signaturesIn(parts, 'v1,', 'base64')
    const asymmetric = signaturesIn(parts, 'v1a,', 'base64').filter(({ length }) => length === SIGNATURE_BYTES)
    const publicKeys = asymmetric.length === 0 ? [] : rule.secrets.flatMap((secret) => publicKey(secret) ?? [])
    if (asymmetric.length > Math.max(MIN_CHECKED, Math.floor(MAX_CHECKS / publicKeys.length)))
      return `there are too many signatures for ${publicKeys.length} public keys`
    const content = contents.flat()
    const sharedKeys = rule.secrets.flatMap((secret) => sharedKey(secret) ?? [])
    const isShared = isSignedByOne(shared, 'sha256', sharedKeys, content)
    return isSignedBy(publicKeys, asymmetric, content) || isShared ? null : NO_SIGNATURE_FITS
  }),

  /** With each secret; a private key, `whsk_…`, signs as v1a. An id that the request has is kept. */
  sign({ secrets }, request, { nowMs }) {
    const id = optionalHeader(request, 'webhook-id') || `msg_${randomBytes(16).toString('hex')}`
    checkId(id)
    const timestamp = String(secondsOf(nowMs))
    const content = [rawBytes(`${id}.${timestamp}.`), request.body]
    const signatures = secrets.flatMap((secret) => {
      const [key, shared] = [privateKey(secret), sharedKey(secret)]
      if (key) return `v1a,${sign(null, Buffer.concat(content), key).toString('base64')}`
      return shared ? `v1,${hmacOf('sha256', shared, content).toString('base64')}` : []
    })
    if (signatures.length === 0) throw new Error('none of the secrets can sign')
    return [
      ['webhook-id', id],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', signatures.join(' ')],
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

/** With a period in the id, a signature could be that of another id, with a part of this one moved into the body. */
function checkId(id: string) {
  if (id.includes('.')) throw new NoProof('the header "webhook-id" has a period')
}

/** The bytes of a text in base64 after the prefix, with or without padding; null: it is none, or empty. */
function keyAfter(prefix: string, secret: string) {
  const digits = secret.slice(prefix.length).replace(/={1,2}$/, '')
  // As lenient as other decoders: of a text that was made up, the last digit may have bits that belong to no byte.
  const isKey = secret.startsWith(prefix) && /^[A-Za-z0-9+/]{2,}$/.test(digits) && digits.length % 4 !== 1
  return isKey ? Buffer.from(digits, 'base64') : null
}

/** The key of v1; null for a key of v1a, and for a malformed one. */
const sharedKey = (secret: string) =>
  keyAfter(secret.startsWith(SHARED_SECRET_PREFIX) ? SHARED_SECRET_PREFIX : '', secret)

/** Whether one of the signatures of v1a is of one of the keys. */
function isSignedBy(
  keys: readonly KeyObject[],
  signatures: readonly Buffer[],
  content: readonly Uint8Array[],
): boolean {
  const data = keys.length === 0 ? null : Buffer.concat(content)
  return keys.flatMap((key) => signatures.map((one) => data !== null && verify(null, data, key, one))).includes(true)
}

function publicKey(secret: string) {
  const bytes = keyAfter(PUBLIC_KEY_PREFIX, secret)
  if (bytes?.length !== KEY_BYTES) return null
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' })
}

/** What stands before the seed in PKCS #8 (RFC 8410, 7). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The seed of 32 bytes, or the seed and the public key. */
function privateKey(secret: string) {
  const bytes = keyAfter(PRIVATE_KEY_PREFIX, secret)
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

  verify: proof((rule, request, env) => {
    optionalHeader(request, GITLAB_TOKEN)
    const { tokens, signing } = gitlabRules(rule)
    const token = tokenScheme.verify(tokens, request, env)
    // Without signing tokens, there is nothing that the other headers could prove.
    if (signing.secrets.length === 0) return token
    const unsigned = standardScheme.verify(signing, request, env)
    if (token === null || unsigned === null) return null
    return tokens.secrets.length === 0 ? unsigned : `${token}, and ${unsigned}`
  }),

  sign(rule, request, env) {
    const { tokens, signing } = gitlabRules(rule)
    return isSigningToken(signingSecret(rule.secrets))
      ? standardScheme.sign(signing, request, env)
      : tokenScheme.sign(tokens, request, env)
  },

  proofHeader: () => GITLAB_TOKEN.toLowerCase(),

  secretFault: (secret) => (isSigningToken(secret) ? standardScheme.secretFault(secret) : null),
}

const isSigningToken = (secret: string) => secret.startsWith(SHARED_SECRET_PREFIX)

const gitlabRules = (rule: VerifyRule) => ({
  tokens: { ...rule, header: GITLAB_TOKEN, secrets: rule.secrets.filter((secret) => !isSigningToken(secret)) },
  signing: { ...rule, secrets: rule.secrets.filter(isSigningToken) },
})
