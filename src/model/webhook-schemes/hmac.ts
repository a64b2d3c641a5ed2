// model: an HMAC in a header: of several providers, and, over content that a template describes, of others.
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
// https://shopify.dev/docs/apps/build/webhooks/verify-deliveries
// https://docs.stripe.com/webhooks/signature
// https://docs.slack.dev/authentication/verifying-requests-from-slack
// https://docs.slack.dev/reference/events/url_verification
import { getOwn, isObject } from '../json/value.ts'
import { decodeDigest, hmacOf, isSignedByOne, rawBytes, readSingleHeader, secondsOf, timeFault } from './proofs.ts'
import {
  anySecret,
  HEADER_NAME_PATTERN,
  MAX_SIGNATURES,
  NO_SIGNATURE_FITS,
  signingSecret,
  type HeaderPair,
  type PayloadPart,
  type ReceivedWebhook,
  type VerifyRule,
  type WebhookScheme,
} from './scheme.ts'

/** What the signature is of, and where it stands. */
type HmacForm = Pick<VerifyRule, 'header' | 'algorithm' | 'encoding' | 'payload' | 'prefix' | 'timestampHeader'> & {
  /** Another name of the header. */
  readonly spelling?: string
}

const BODY_ALONE: readonly PayloadPart[] = [{ kind: 'body' }]
const NO_HEADER = 'the rule names no header'

/** @param provider the form of its signatures; left out: that of the rule */
function hmacSchemeOf(provider?: HmacForm): WebhookScheme {
  return {
    hasTime: (rule) => (provider ?? rule).timestampHeader !== undefined,

    verify({ secrets, toleranceS, ...rule }, request, { nowMs }) {
      const form: HmacForm = provider ?? rule
      const { header, spelling = header, algorithm = 'sha256', encoding = 'hex', timestampHeader } = form
      if (header === undefined || spelling === undefined) return NO_HEADER
      if (timestampHeader !== undefined) {
        const time = readSingleHeader(request, timestampHeader)
        const fault = time.fault ?? timeFault(time.value, toleranceS, nowMs)
        if (fault !== null) return fault
      }
      const content = contentOf(form, request)
      if (typeof content === 'string') return content
      const proof = readSingleHeader(request, header, spelling)
      if (proof.fault !== null) return proof.fault
      const prefix = prefixOf(form)
      const given = proof.value.startsWith(prefix) ? decodeDigest(proof.value.slice(prefix.length), encoding) : null
      if (!given) return `the header "${header}" is malformed`
      return isSignedByOne([given], algorithm, secrets, content) ? null : NO_SIGNATURE_FITS
    },

    sign({ secrets, ...rule }, request, { nowMs }) {
      const form: HmacForm = provider ?? rule
      const { header, algorithm = 'sha256', encoding = 'hex', timestampHeader } = form
      if (header === undefined) throw new Error(NO_HEADER)
      const time: HeaderPair[] = timestampHeader === undefined ? [] : [[timestampHeader, String(secondsOf(nowMs))]]
      const others = request.headers.filter(([name]) => name.toLowerCase() !== timestampHeader?.toLowerCase())
      const content = contentOf(form, { ...request, headers: [...others, ...time] })
      if (typeof content === 'string') throw new Error(content)
      const digest = hmacOf(algorithm, signingSecret(secrets), content).toString(encoding)
      return [...time, [header, prefixOf(form) + digest]]
    },

    secretFault: anySecret,
  }
}

export const hmacScheme = hmacSchemeOf()

/** `X-Hub-Signature`, with SHA-1, is no proof. */
export const githubScheme = hmacSchemeOf({ header: 'X-Hub-Signature-256', prefix: 'sha256=' })

export const shopifyScheme = hmacSchemeOf({
  header: 'X-Shopify-Hmac-Sha256',
  spelling: 'Shopify-Hmac-Sha256',
  encoding: 'base64',
})

export const slackScheme: WebhookScheme = {
  ...hmacSchemeOf({
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

const STRIPE_HEADER = 'Stripe-Signature'

/** The secret is used as it is, with its `whsec_`; signatures of version v0 are ignored. */
export const stripeScheme: WebhookScheme = {
  hasTime: () => true,

  verify({ secrets, toleranceS }, request, { nowMs }) {
    const header = readSingleHeader(request, STRIPE_HEADER)
    if (header.fault !== null) return header.fault
    const items = header.value.split(',')
    const times = new Set(valuesOf(items, 't='))
    const [time] = times
    if (time === undefined || times.size > 1) return `the header "${STRIPE_HEADER}" must have one time`
    const late = timeFault(time, toleranceS, nowMs)
    if (late !== null) return late
    const given = valuesOf(items, 'v1=').flatMap((text) => decodeDigest(text, 'hex') ?? [])
    if (given.length > MAX_SIGNATURES) return `there are more than ${MAX_SIGNATURES} signatures`
    return isSignedByOne(given, 'sha256', secrets, stripeContent(time, request)) ? null : NO_SIGNATURE_FITS
  },

  sign({ secrets }, request, { nowMs }) {
    const time = String(secondsOf(nowMs))
    const digest = hmacOf('sha256', signingSecret(secrets), stripeContent(time, request))
    return [[STRIPE_HEADER, `t=${time},v1=${digest.toString('hex')}`]]
  },

  secretFault: anySecret,
}

const valuesOf = (items: readonly string[], key: string): string[] =>
  items.filter((item) => item.startsWith(key)).map((item) => item.slice(key.length))

const stripeContent = (time: string, { body }: ReceivedWebhook): Uint8Array[] => [rawBytes(`${time}.`), body]

/** As it stands in a header: each character is a byte. */
const prefixOf = ({ prefix = '' }: HmacForm): string => Buffer.from(prefix).toString('latin1')

/** The signed bytes; a text says why the request has none. */
function contentOf(
  { payload = BODY_ALONE, timestampHeader }: HmacForm,
  request: ReceivedWebhook,
): Uint8Array[] | string {
  const content: Uint8Array[] = []
  for (const part of payload) {
    if (part.kind === 'body') content.push(request.body)
    else if (part.kind === 'text') content.push(Buffer.from(part.text))
    else {
      const name = part.kind === 'header' ? part.name : timestampHeader
      if (name === undefined) return 'the rule names no header for the timestamp'
      const header = readSingleHeader(request, name)
      if (header.fault !== null) return header.fault
      content.push(rawBytes(header.value))
    }
  }
  return content
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
