// model: an HMAC in a header, and what it is of, as one description from which a request is checked and signed: of several
// providers, and, over content that a template describes, of others.
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
// https://shopify.dev/docs/apps/build/webhooks/verify-deliveries
// https://docs.stripe.com/webhooks/signature
// https://docs.slack.dev/authentication/verifying-requests-from-slack
// https://docs.slack.dev/reference/events/url_verification
import { getOwn, isObject } from '../json/value.ts'
import {
  bytesAsText,
  decodeDigest,
  hmacOf,
  isSignedByOne,
  rawBytes,
  readSingleHeader,
  secondsOf,
  timeFault,
} from './proofs.ts'
import {
  anySecret,
  HEADER_NAME_PATTERN,
  NO_SIGNATURE_FITS,
  signingSecret,
  tooMany,
  type DigestEncoding,
  type HeaderPair,
  type PayloadPart,
  type ReceivedWebhook,
  type VerifyEnv,
  type VerifyRule,
  type WebhookScheme,
} from './scheme.ts'

/** What the signature is of, and where it stands. */
export interface SignatureForm extends Pick<
  VerifyRule,
  'header' | 'algorithm' | 'encoding' | 'payload' | 'prefix' | 'timestampHeader'
> {
  /** Another name of the header. */
  readonly spelling?: string
  /** Stands between the parts of the header, of which those with the prefix are signatures; left out: it is one. */
  readonly separator?: string
  /** Stands before the time, which is a part of the header. */
  readonly timePrefix?: string
  /** In place of `payload`: what may be signed, the most likely first; a text: why there is nothing. */
  readonly contentsOf?: (rule: VerifyRule, request: ReceivedWebhook, env: VerifyEnv) => Contents | string
}

type Contents = readonly (readonly Uint8Array[])[]

const BODY_ALONE: readonly PayloadPart[] = [{ kind: 'body' }]
const NO_HEADER = 'the rule names no header'

/**
 * The parts of the header with the signature, and what may be signed, once the time is checked; a text: why the request is
 * refused.
 */
export function readSigned(
  form: SignatureForm,
  rule: VerifyRule,
  request: ReceivedWebhook,
  env: VerifyEnv,
): { readonly parts: readonly string[]; readonly contents: Contents } | string {
  const { header: name, spelling, separator, timestampHeader, timePrefix } = form
  if (name === undefined) return NO_HEADER
  const header = readSingleHeader(request, name, spelling ?? name)
  if (header.fault !== null) return header.fault
  const parts = separator === undefined ? [header.value] : header.value.split(separator)
  let time: string | null = null
  if (timestampHeader !== undefined) {
    const given = readSingleHeader(request, timestampHeader)
    if (given.fault !== null) return given.fault
    time = given.value
  }
  if (timePrefix !== undefined) {
    const [given, ...others] = new Set(withPrefix(parts, timePrefix))
    if (given === undefined || others.length > 0) return `the header "${name}" must have one time`
    time = given
  }
  const late = time === null ? null : timeFault(time, rule.toleranceS, env.nowMs)
  if (late !== null) return late
  const contents = contentsOf(form, time, [rule, request, env])
  return typeof contents === 'string' ? contents : { parts, contents }
}

/** What follows the prefix in the parts that have it. */
const withPrefix = (parts: readonly string[], prefix: string): string[] =>
  parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))

/** The signatures after the prefix. What is none is passed over. */
export const signaturesIn = (parts: readonly string[], prefix: string, encoding: DigestEncoding): Buffer[] =>
  withPrefix(parts, prefix).flatMap((text) => decodeDigest(text, encoding) ?? [])

function contentsOf(
  { payload = BODY_ALONE, timestampHeader, contentsOf: own }: SignatureForm,
  time: string | null,
  given: readonly [VerifyRule, ReceivedWebhook, VerifyEnv],
): Contents | string {
  if (own) return own(...given)
  const [, request] = given
  const content: Uint8Array[] = []
  for (const part of payload) {
    if (part.kind === 'body') content.push(request.body)
    else if (part.kind === 'text') content.push(Buffer.from(part.text))
    else if (part.kind === 'timestamp' || part.name.toLowerCase() === timestampHeader?.toLowerCase()) {
      if (time === null) return 'the rule names no header for the timestamp'
      content.push(rawBytes(time))
    } else {
      const header = readSingleHeader(request, part.name)
      if (header.fault !== null) return header.fault
      content.push(rawBytes(header.value))
    }
  }
  return [content]
}

/** @param provider the form of its signatures; left out: that of the rule */
export function signatureScheme(provider?: SignatureForm): WebhookScheme {
  return {
    hasTime: (rule) => provider?.timePrefix !== undefined || (provider ?? rule).timestampHeader !== undefined,

    verify(rule, request, env) {
      const form: SignatureForm = provider ?? rule
      const { algorithm = 'sha256', encoding = 'hex', prefix = '' } = form
      const signed = readSigned(form, rule, request, env)
      if (typeof signed === 'string') return signed
      const given = signaturesIn(signed.parts, bytesAsText(prefix), encoding)
      // All are compared, whatever the outcome.
      const fits = signed.contents.map((content) => isSignedByOne(given, algorithm, rule.secrets, content))
      return tooMany(given) ?? (fits.includes(true) ? null : NO_SIGNATURE_FITS)
    },

    sign(rule, request, env) {
      const form: SignatureForm = provider ?? rule
      const { header, algorithm = 'sha256', encoding = 'hex', prefix = '', timestampHeader, timePrefix } = form
      if (header === undefined) throw new Error(NO_HEADER)
      const time = String(secondsOf(env.nowMs))
      const hasTime = timestampHeader !== undefined || timePrefix !== undefined
      const contents = contentsOf(form, hasTime ? time : null, [rule, request, env])
      if (typeof contents === 'string') throw new Error(contents)
      const [content = []] = contents
      const digest = hmacOf(algorithm, signingSecret(rule.secrets), content).toString(encoding)
      const timed = timePrefix === undefined ? '' : `${timePrefix}${time}${form.separator}`
      const proof: HeaderPair = [header, timed + bytesAsText(prefix) + digest]
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
export function compilePayload(
  template: string,
): { readonly parts: readonly PayloadPart[]; readonly fault: null } | { readonly fault: string } {
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
  return parts.length === 0 ? { fault: 'the template is empty' } : { parts, fault: null }
}

function placeholder(name: string): PayloadPart | null {
  if (name === 'body' || name === 'timestamp') return { kind: name }
  const header = name.startsWith('header.') ? name.slice('header.'.length) : ''
  return HEADER_NAME_PATTERN.test(header) ? { kind: 'header', name: header } : null
}
