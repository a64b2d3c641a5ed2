// model: the scheme of Twilio: URL and fields of a form are signed, or the URL with the hash of another body in it.
// The fields are signed without separators, so the scheme does not tell `a=bc` from `ab=c`.
// https://www.twilio.com/docs/usage/security#validating-requests
import { decodeDigest, haveCommon, hmacDigests, sha256 } from './digests.ts'
import { formContent } from './twilio-form.ts'
import { twilioUrls } from './twilio-url.ts'
import { rawBytes, readSingleHeader } from './request-parts.ts'
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
    const digests = urls.flatMap((text) => hmacDigests('sha1', secrets, [rawBytes(text), fields.content]))
    return haveCommon([given], digests) ? null : NO_SIGNATURE_FITS
  },

  sign({ secrets, url }, request, { publicUrl }) {
    const fields = signedFields(request)
    if (fields.fault !== null) throw new Error(fields.fault)
    const [text] = twilioUrls({ url: url ?? null, publicUrl, request })
    if (text === undefined) throw new Error('the URL is not known')
    const [digest] = hmacDigests('sha1', [signingSecret(secrets)], [rawBytes(text), fields.content])
    return [[HEADER, digest?.toString('base64') ?? '']]
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
