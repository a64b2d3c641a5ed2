// model: the scheme of Twilio: URL and fields of a form are signed, or the URL with the hash of another body in it.
// The fields are signed without separators, so the scheme does not tell `a=bc` from `ab=c`.
// https://www.twilio.com/docs/usage/security#validating-requests
import { textIn } from '../charset.ts'
import { decodeDigest, haveCommon, hmacOf, isSignedByOne, rawBytes, readSingleHeader, sha256 } from './proofs.ts'
import { anySecret, NO_SIGNATURE_FITS, signingSecret, type ReceivedWebhook, type WebhookScheme } from './scheme.ts'

const HEADER = 'X-Twilio-Signature'

export const twilioScheme: WebhookScheme = {
  hasTime: () => false,

  verify({ secrets, url }, request, { publicUrl }) {
    const header = readSingleHeader(request, HEADER)
    if (header.fault !== null) return header.fault
    const given = decodeDigest(header.value, 'base64')
    if (!given) return `the header "${HEADER}" is malformed`
    const fields = signedFields(request)
    if (fields.fault !== null) return fields.fault
    const urls = twilioUrls({ url: url ?? null, publicUrl, request })
    if (urls.length === 0) return 'the URL is not known: there is no "Host" header'
    // All are compared, whatever the outcome.
    const fits = urls.map((text) => isSignedByOne([given], 'sha1', secrets, [rawBytes(text), fields.content]))
    return fits.includes(true) ? null : NO_SIGNATURE_FITS
  },

  sign({ secrets, url }, request, { publicUrl }) {
    const fields = signedFields(request)
    if (fields.fault !== null) throw new Error(fields.fault)
    const [text] = twilioUrls({ url: url ?? null, publicUrl, request })
    if (text === undefined) throw new Error('the URL is not known')
    const digest = hmacOf('sha1', signingSecret(secrets), [rawBytes(text), fields.content])
    return [[HEADER, digest.toString('base64')]]
  },

  secretFault: anySecret,
}

type Signed = { readonly content: Uint8Array; readonly fault: null } | { readonly fault: string }

/**
 * What is signed after the URL. If the query has a hash, the body must have it, even an empty body and that of a form:
 * otherwise a stranger could replace the body under the signature of the URL.
 */
function signedFields({ target, headers, body }: ReceivedWebhook): Signed {
  const hashes = valuesOf(target, 'bodySHA256')
  const actual = sha256(body)
  for (const text of hashes) {
    const hash = decodeDigest(text, 'hex')
    if (!hash || !haveCommon([hash], [actual])) return { fault: 'the body is not that of "bodySHA256" in the query' }
  }
  const type = readSingleHeader({ headers }, 'Content-Type')
  if (type.fault === null && isForm(type.value)) return formContent(body)
  if (type.fault !== null && !type.isAbsent) return { fault: type.fault }
  if (body.length > 0 && hashes.length === 0)
    return { fault: 'the body is not a form, and the query has no "bodySHA256"' }
  return { content: Buffer.alloc(0), fault: null }
}

const isForm = (contentType: string): boolean =>
  contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded'

/** The values of a parameter of the query, not decoded. */
function valuesOf(target: string, name: string): string[] {
  const start = target.indexOf('?')
  const pairs = start === -1 ? [] : target.slice(start + 1).split('&')
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1))
}

/** Most fields of a form; sorting more would take more than linear time. Twilio sends a few dozen. */
const MAX_FIELDS = 1000

/**
 * The fields of a form as they are signed: the names, sorted by code units, each followed by its value. A name with several values stands before each of them;
 * they are sorted, and each is there once.
 */
function formContent(body: Uint8Array): Signed {
  let fields: Map<string, Set<string>> | null
  try {
    fields = readFields(textIn(body, 'utf-8', { strict: true }))
  } catch {
    // Both decoders throw only for malformed text.
    return { fault: 'the form is malformed' }
  }
  if (!fields) return { fault: `the form has more than ${MAX_FIELDS} fields` }
  // The default order of `sort` is that by code units.
  const content = [...fields.keys()]
    .sort()
    .flatMap((name) => [...(fields.get(name) ?? [])].sort().map((value) => name + value))
  return { content: Buffer.from(content.join('')), fault: null }
}

/** Null if there are too many. @throws URIError for a malformed escape */
function readFields(text: string): Map<string, Set<string>> | null {
  const fields = new Map<string, Set<string>>()
  let count = 0
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('&', at)
    const pair = text.slice(at, end === -1 ? text.length : end)
    at += pair.length + 1
    if (pair === '') continue
    if (++count > MAX_FIELDS) return null
    const equals = pair.indexOf('=')
    const name = decodeField(equals === -1 ? pair : pair.slice(0, equals))
    const values = fields.get(name) ?? new Set()
    fields.set(name, values.add(equals === -1 ? '' : decodeField(pair.slice(equals + 1))))
  }
  return fields
}

const decodeField = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ['https', ':443'],
  ['http', ':80'],
])

interface UrlSources {
  /** Of the endpoint: without the query, which is added as received. */
  readonly url: string | null
  /** Of the server: what stands before the target. */
  readonly publicUrl: string | null
  readonly request: Pick<ReceivedWebhook, 'target' | 'host'>
}

/**
 * The URL that Twilio called and signed, as far as this server can know it: as it is, and with and without the port, since Twilio is not consistent there; each character is a byte. Empty
 * if the URL is not known. `X-Forwarded-*` headers are not used: anyone can send them.
 */
function twilioUrls({ url, publicUrl, request: { target, host } }: UrlSources): readonly string[] {
  if (url !== null) return variants(bytesAsText(url) + queryOf(target, url.includes('?')))
  if (publicUrl !== null)
    return variants(bytesAsText(publicUrl.endsWith('/') ? publicUrl.slice(0, -1) : publicUrl) + target)
  return host === null ? [] : variants(`http://${host}${target}`)
}

const bytesAsText = (text: string): string => Buffer.from(text).toString('latin1')

/** The query as received, to stand after a URL. */
function queryOf(target: string, hasQuery: boolean): string {
  const start = target.indexOf('?')
  if (start === -1) return ''
  return hasQuery ? `&${target.slice(start + 1)}` : target.slice(start)
}

function variants(url: string): readonly string[] {
  const colon = url.indexOf('://')
  const start = colon === -1 ? 0 : colon + 3
  const length = url.slice(start).search(/[/?#]/)
  const end = length === -1 ? url.length : start + length
  const authority = url.slice(start, end)
  // What follows the last colon: others may be in the user's password and in an IPv6 address, which ends in a bracket.
  const last = authority.lastIndexOf(':')
  const hasPort = last !== -1 && /^:\d+$/.test(authority.slice(last))
  const bare = url.slice(0, start) + (hasPort ? authority.slice(0, last) : authority)
  const port = hasPort ? '' : (DEFAULT_PORTS.get(url.slice(0, Math.max(colon, 0)).toLowerCase()) ?? '')
  return [...new Set([url, bare + url.slice(end), bare + port + url.slice(end)])]
}
