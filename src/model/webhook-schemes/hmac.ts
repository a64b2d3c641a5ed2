// model: an HMAC in a header, and what it is of, as one description from which a request is checked and signed: of
// several providers, and, over content that a template describes, of others.
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
// https://shopify.dev/docs/apps/build/webhooks/verify-deliveries https://docs.stripe.com/webhooks/signature
// https://docs.slack.dev/authentication/verifying-requests-from-slack
// https://docs.slack.dev/reference/events/url_verification
import { getOwn, isObject } from '../json/value.ts'
import {
  bytesAsText,
  checkTime,
  decodeDigest,
  headerOf,
  hmacOf,
  isSignedByOne,
  NoProof,
  proof,
  rawBytes,
  secondsOf,
} from './proofs.ts'
import {
  anySecret,
  HEADER_NAME_PATTERN,
  NO_SIGNATURE_FITS,
  signingSecret,
  type DigestEncoding,
  type HeaderPair,
  type PayloadPart,
  type ReceivedWebhook,
  type VerifyEnv,
  type VerifyRule,
  type WebhookScheme,
} from './scheme.ts'

/** What the signature is of, and where it stands. */
export interface SignatureForm extends Omit<VerifyRule, 'secrets' | 'toleranceS'> {
  /** Another name of the header. */
  readonly spelling?: string
  /** Separates the parts of the header; those with the prefix are signatures. Left out: the header is one signature. */
  readonly separator?: string
  /** Stands before the time, which is a part of the header. */
  readonly timePrefix?: string
  /** In place of `payload`: what may be signed, the most likely first. @throws NoProof when there is nothing */
  readonly contentsOf?: (rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv) => Contents
}

type Contents = readonly (readonly Uint8Array[])[]

const BODY_ALONE: readonly PayloadPart[] = [{ kind: 'body' }]

/** The name of the header with the signature. */
function nameIn({ header }: SignatureForm) {
  if (header === undefined) throw new NoProof('the rule names no header')
  return header
}

/**
 * The parts of the header with the signature, and what may be signed, once the time is checked.
 * @throws NoProof
 */
export function readSigned(form: SignatureForm, rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv) {
  const { spelling, separator, timestampHeader, timePrefix } = form
  const name = nameIn(form)
  const value = headerOf(request, name, spelling)
  const parts = separator === undefined ? [value] : value.split(separator)
  let time = timestampHeader === undefined ? null : headerOf(request, timestampHeader)
  if (timePrefix !== undefined) {
    const [given, ...others] = new Set(withPrefix(parts, timePrefix))
    if (given === undefined || others.length > 0) throw new NoProof(`the header "${name}" must have one time`)
    time = given
  }
  if (time !== null) checkTime(time, rule.toleranceS, env.nowMs)
  return { parts, contents: contentsOf(form, time, rule, request, env) }
}

/** What follows the prefix in the parts that have it. */
const withPrefix = (parts: readonly string[], prefix: string) =>
  parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))

/**
 * Most signatures after a prefix that are compared; a request with more is refused. Senders give one for each of their
 * keys, two or three while a key is being replaced; each one that a stranger adds costs this server a comparison, and
 * for public keys a pass over the body.
 */
const MAX_SIGNATURES = 10

/** The signatures after the prefix. What is none is passed over. @throws NoProof when there are too many */
export function signaturesIn(parts: readonly string[], prefix: string, encoding: DigestEncoding): Buffer[] {
  const signatures = withPrefix(parts, prefix).flatMap((text) => decodeDigest(text, encoding) ?? [])
  if (signatures.length > MAX_SIGNATURES) throw new NoProof(`there are more than ${MAX_SIGNATURES} signatures`)
  return signatures
}

function contentsOf(
  { payload = BODY_ALONE, timestampHeader, contentsOf: own }: SignatureForm,
  time: string | null,
  rule: VerifyRule,
  request: ReceivedWebhook,
  env: VerifyEnv,
): Contents {
  if (own) return own(rule, request, env)
  const content: Uint8Array[] = []
  for (const part of payload) {
    if (part.kind === 'body') content.push(request.body)
    else if (part.kind === 'text') content.push(Buffer.from(part.text))
    else if (part.kind === 'timestamp' || part.name.toLowerCase() === timestampHeader?.toLowerCase()) {
      if (time === null) throw new NoProof('the rule names no header for the timestamp')
      content.push(rawBytes(time))
    } else content.push(rawBytes(headerOf(request, part.name)))
  }
  return [content]
}

/** @param provider the form of its signatures; left out: that of the rule */
export function signatureScheme(provider?: SignatureForm): WebhookScheme {
  const formOf = (rule: VerifyRule) => {
    const form: SignatureForm = provider ?? rule
    const { algorithm = 'sha256', encoding = 'hex', prefix = '' } = form
    return { ...form, algorithm, encoding, prefix: bytesAsText(prefix) }
  }
  return {
    hasTime: (rule) => provider?.timePrefix !== undefined || (provider ?? rule).timestampHeader !== undefined,

    verify: proof((rule, request, env) => {
      const form = formOf(rule)
      const { parts, contents } = readSigned(form, rule, request, env)
      const given = signaturesIn(parts, form.prefix, form.encoding)
      // All are compared, whatever the outcome.
      const fits = contents.map((content) => isSignedByOne(given, form.algorithm, rule.secrets, content))
      return fits.includes(true) ? null : NO_SIGNATURE_FITS
    }),

    sign(rule, request, env) {
      const form = formOf(rule)
      const { timestampHeader, timePrefix } = form
      const time = String(secondsOf(env.nowMs))
      const hasTime = timestampHeader !== undefined || timePrefix !== undefined
      const [content = []] = contentsOf(form, hasTime ? time : null, rule, request, env)
      const digest = hmacOf(form.algorithm, signingSecret(rule.secrets), content).toString(form.encoding)
      const timed = timePrefix === undefined ? '' : `${timePrefix}${time}${form.separator}`
      const proof: HeaderPair = [nameIn(form), timed + form.prefix + digest]
      return timestampHeader === undefined ? [proof] : [[timestampHeader, time], proof]
    },

    secretFault: anySecret,
  }
}

export const hmacScheme = signatureScheme()

/** `X-Hub-Signature`, with SHA-1, is no proof. */
export const githubScheme = signatureScheme({ header: 'X-Hub-Signature-256', prefix: 'sha256=' })

export const shopifyScheme = signatureScheme({
  header: 'X-Shopify-Hmac-Sha256',
  spelling: 'Shopify-Hmac-Sha256',
  encoding: 'base64',
})

/** The secret is used as it is, with its `whsec_`; signatures of version v0 are ignored. */
export const stripeScheme = signatureScheme({
  header: 'Stripe-Signature',
  separator: ',',
  timePrefix: 't=',
  prefix: 'v1=',
  payload: [{ kind: 'timestamp' }, { kind: 'text', text: '.' }, { kind: 'body' }],
})

export const slackScheme: WebhookScheme = {
  ...signatureScheme({
    header: 'X-Slack-Signature',
    prefix: 'v0=',
    timestampHeader: 'X-Slack-Request-Timestamp',
    payload: [{ kind: 'text', text: 'v0:' }, { kind: 'timestamp' }, { kind: 'text', text: ':' }, { kind: 'body' }],
  }),

  /** Slack's test of a new URL. */
  handshake(body) {
    const challenge = isObject(body) && getOwn(body, 'type') === 'url_verification' ? getOwn(body, 'challenge') : null
    if (typeof challenge !== 'string') return null
    return { status: 200, contentType: 'text/plain; charset=utf-8', text: challenge }
  },
}

/**
 * Compiles a template of signed content: text with `${body}`, `${timestamp}` and `${header.NAME}`. `fault` says why the
 * template is none.
 */
export function compilePayload(template: string) {
  const parts: PayloadPart[] = []
  let at = 0
  while (at < template.length) {
    const start = template.indexOf('${', at)
    const text = template.slice(at, start === -1 ? template.length : start)
    if (text !== '') parts.push({ kind: 'text', text })
    if (start === -1) break
    const end = template.indexOf('}', start)
    if (end === -1) return { fault: 'a "${" has no "}"' }
    const name = template.slice(start + 2, end).trim()
    const part = placeholder(name)
    if (!part) return { fault: `"\${${name}}" is none of \${body}, \${timestamp} and \${header.NAME}` }
    parts.push(part)
    at = end + 1
  }
  if (parts.length === 0) return { fault: 'the template is empty' }
  return { parts, fault: null }
}

function placeholder(name: string): PayloadPart | null {
  if (name === 'body' || name === 'timestamp') return { kind: name }
  const header = name.startsWith('header.') ? name.slice('header.'.length) : ''
  return HEADER_NAME_PATTERN.test(header) ? { kind: 'header', name: header } : null
}
