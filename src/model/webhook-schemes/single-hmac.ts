// model: a header with one HMAC, as most providers send it.
import { decodeDigest, haveCommon, hmacDigests } from './digests.ts'
import { readSingleHeader } from './request-parts.ts'
import { NO_SIGNATURE_FITS, type DigestEncoding, type HmacAlgorithm, type ReceivedWebhook } from './scheme.ts'

export interface HmacForm {
  /** Spellings of the header. */
  readonly names: readonly [string, ...string[]]
  /** Stands before the signature. */
  readonly prefix: string
  readonly algorithm: HmacAlgorithm
  readonly encoding: DigestEncoding
}

/** Null: the header has the HMAC of the content with one of the secrets. Otherwise why not. */
export function verifyHmac(
  { names, prefix, algorithm, encoding }: HmacForm,
  secrets: readonly string[],
  request: ReceivedWebhook,
  content: readonly Uint8Array[],
): string | null {
  const header = readSingleHeader(request, ...names)
  if (header.fault !== null) return header.fault
  const given = header.value.startsWith(prefix) ? decodeDigest(header.value.slice(prefix.length), encoding) : null
  if (!given) return `the header "${names[0]}" is malformed`
  return haveCommon([given], hmacDigests(algorithm, secrets, content)) ? null : NO_SIGNATURE_FITS
}

/** The value of the header. */
export const hmacText = (
  { prefix, algorithm, encoding }: HmacForm,
  secret: string,
  content: readonly Uint8Array[],
): string => `${prefix}${hmacDigests(algorithm, [secret], content)[0]?.toString(encoding)}`
