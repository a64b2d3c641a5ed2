// model: the scheme of Twilio: URL and fields of a form are signed, or the URL with the hash of another body in it.
// The fields are signed without separators, so the scheme can't distinguish `a=bc` from `ab=c`.
// https://www.twilio.com/docs/usage/security#validating-requests
import { signatureScheme } from './hmac.ts'
import { bytesAsText, decodeDigest, haveCommon, NoProof, optionalHeader, rawBytes, sha256 } from './proofs.ts'
import type { ReceivedWebhook } from './scheme.ts'

export const twilioScheme = signatureScheme({
  header: 'X-Twilio-Signature',
  algorithm: 'sha1',
  encoding: 'base64',

  contentsOf({ url }, request, { publicUrl }) {
    const fields = signedFields(request)
    return variantsOf(calledUrl(url, publicUrl, request)).map((text) => [rawBytes(text), fields])
  },
})

/**
 * What is signed after the URL. If the query has a hash, the body must have it, even an empty body and that of a form:
 * otherwise a stranger could replace the body under the signature of the URL.
 */
function signedFields(request: ReceivedWebhook) {
  const { target, body } = request
  const hashes = [...target.matchAll(/[?&]bodySHA256=([^&]*)/g)]
  const actual = sha256(body)
  for (const [, text = ''] of hashes) {
    const hash = decodeDigest(text, 'hex')
    if (!hash || !haveCommon([hash], [actual])) throw new NoProof('the body is not that of "bodySHA256" in the query')
  }
  if (isForm(optionalHeader(request, 'Content-Type'))) return formContent(body)
  if (body.length > 0 && hashes.length === 0)
    throw new NoProof('the body is not a form, and the query has no "bodySHA256"')
  return Buffer.alloc(0)
}

const isForm = (contentType: string) =>
  contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded'

/** Most fields of a form; sorting more would take more than linear time. Twilio sends a few dozen. */
const MAX_FIELDS = 1000

/**
 * The fields of a form as they are signed: the names, sorted by code units, each followed by its value. A name with
 * several values stands before each of them; they are sorted, and each is there once.
 */
function formContent(body: Uint8Array) {
  const fields = new Map<string, Set<string>>()
  let count = 0
  try {
    // One after the other: a body of separators alone would make a list of a million texts.
    for (const [pair] of new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body).matchAll(/[^&]+/g)) {
      count += 1
      if (count > MAX_FIELDS) break
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? []
      const field = decodeField(name)
      fields.set(field, (fields.get(field) ?? new Set()).add(decodeField(value)))
    }
  } catch {
    // Both decoders throw only for malformed text.
    throw new NoProof('the form is malformed')
  }
  if (count > MAX_FIELDS) throw new NoProof(`the form has more than ${MAX_FIELDS} fields`)
  // The default order of `sort` is that by code units.
  const content = [...fields.keys()]
    .sort()
    .flatMap((name) => [...(fields.get(name) ?? [])].sort().map((value) => name + value))
  return Buffer.from(content.join(''))
}

const decodeField = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))

/**
 * The URL that Twilio called and signed, as far as this server can know it: that of the endpoint, to which the query as
 * received is added, else that of the server before the target; each character is a byte. `X-Forwarded-*` headers are
 * not used: anyone can send them.
 */
function calledUrl(url: string | undefined, publicUrl: string | null, { target, host }: ReceivedWebhook) {
  if (url !== undefined) {
    const [, ...query] = target.split('?')
    const separator = url.includes('?') ? '&' : '?'
    return [bytesAsText(url), ...(query.length > 0 ? [query.join('?')] : [])].join(separator)
  }
  if (publicUrl !== null) return bytesAsText(publicUrl.replace(/\/$/, '')) + target
  if (!host) throw new NoProof('the URL is not known: there is no "Host" header')
  return `http://${host}${target}`
}

const DEFAULT_PORTS: { readonly [scheme: string]: string } = { 'https://': ':443', 'http://': ':80' }

/** The URL as it is, and with and without the port, since Twilio is not consistent there. */
function variantsOf(url: string) {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z]*:\/\/)?([^/?#]*)(.*)$/is.exec(url) ?? []
  const bare = scheme + authority.replace(/:\d+$/, '')
  const port = scheme + authority === bare ? (DEFAULT_PORTS[scheme.toLowerCase()] ?? '') : ''
  return [...new Set([url, bare + rest, bare + port + rest])]
}
