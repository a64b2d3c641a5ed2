// model: the scheme for other providers: an HMAC in a header, over content that a template describes.
import { rawBytes, readSingleHeader, secondsOf, timeFault } from './request-parts.ts'
import {
  anySecret,
  signingSecret,
  type HeaderPair,
  type PayloadPart,
  type ReceivedWebhook,
  type VerifyRule,
  type WebhookScheme,
} from './scheme.ts'
import { verifyHmac, hmacText, type HmacForm } from './single-hmac.ts'

const BODY_ALONE: readonly PayloadPart[] = [{ kind: 'body' }]

export const hmacScheme: WebhookScheme = {
  hasTime: ({ timestampHeader }) => timestampHeader !== undefined,

  verify(rule, request, { nowMs }) {
    const form = formOf(rule)
    if (!form) return 'the rule names no header'
    let timestamp: string | null = null
    if (rule.timestampHeader !== undefined) {
      const header = readSingleHeader(request, rule.timestampHeader)
      if (header.fault !== null) return header.fault
      const late = timeFault(header.value, rule.toleranceS, nowMs)
      if (late !== null) return late
      timestamp = header.value
    }
    const content = contentOf(rule, request, timestamp)
    return typeof content === 'string' ? content : verifyHmac(form, rule.secrets, request, content)
  },

  sign(rule, request, { nowMs }) {
    const form = formOf(rule)
    if (!form) throw new Error('the rule names no header')
    const timestamp = String(secondsOf(nowMs))
    const time: HeaderPair[] = rule.timestampHeader === undefined ? [] : [[rule.timestampHeader, timestamp]]
    const others = request.headers.filter(([name]) => name.toLowerCase() !== rule.timestampHeader?.toLowerCase())
    const content = contentOf(rule, { ...request, headers: [...others, ...time] }, time.length > 0 ? timestamp : null)
    if (typeof content === 'string') throw new Error(content)
    return [...time, [form.names[0], hmacText(form, signingSecret(rule.secrets), content)]]
  },

  secretFault: anySecret,
}

const formOf = ({ header, prefix = '', algorithm = 'sha256', encoding = 'hex' }: VerifyRule): HmacForm | null =>
  header === undefined ? null : { names: [header], prefix: Buffer.from(prefix).toString('latin1'), algorithm, encoding }

/** The signed bytes; a text says why the request has none. */
function contentOf(
  { payload = BODY_ALONE }: VerifyRule,
  request: ReceivedWebhook,
  timestamp: string | null,
): Uint8Array[] | string {
  const content: Uint8Array[] = []
  for (const part of payload) {
    if (part.kind === 'body') content.push(request.body)
    else if (part.kind === 'text') content.push(Buffer.from(part.text))
    else if (part.kind === 'timestamp') {
      if (timestamp === null) return 'the rule names no header for the timestamp'
      content.push(rawBytes(timestamp))
    } else {
      const header = readSingleHeader(request, part.name)
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
  return /^[\w!#$%&'*+.^`|~-]+$/.test(header) ? { kind: 'header', name: header } : null
}
