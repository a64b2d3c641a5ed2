// model: digests of webhooks: computed, decoded, and compared in a time that reveals nothing of secrets.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { DigestEncoding, HmacAlgorithm } from './scheme.ts'

/** One digest for each key. A text as a key is its UTF-8. Empty keys are left out: anyone could sign with them. */
export const hmacDigests = (
  algorithm: HmacAlgorithm,
  keys: readonly (string | Uint8Array)[],
  content: readonly Uint8Array[],
): Buffer[] =>
  keys
    .filter(({ length }) => length > 0)
    .map((key) => {
      const hmac = createHmac(algorithm, key)
      for (const bytes of content) hmac.update(bytes)
      return hmac.digest()
    })

/** Whether any is equal to any. All are compared, whatever the outcome. */
export function haveCommon(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  let found = false
  for (const one of some)
    for (const other of others) if (one.length === other.length && timingSafeEqual(one, other)) found = true
  return found
}

/** Whether the bytes are one of the texts, which may have any length. Their hashes are compared, to hide the lengths. */
export const isOneOf = (bytes: Uint8Array, texts: readonly string[]): boolean =>
  haveCommon(
    [sha256(bytes)],
    texts.filter((text) => text !== '').map((text) => sha256(text)),
  )

export const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest()

/**
 * Decodes a digest. Null unless the text is what encoding the bytes gives, but for the case of hexadecimal digits and
 * for missing padding: Node would pass over anything else.
 */
export function decodeDigest(text: string, encoding: DigestEncoding): Buffer | null {
  if (encoding === 'hex') return text.length % 2 === 0 && /^[\da-f]*$/i.test(text) ? Buffer.from(text, 'hex') : null
  const bytes = Buffer.from(text, encoding)
  const bare = bytes.toString(encoding).slice(0, Math.ceil((bytes.length * 4) / 3))
  return text === bare || text === bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') ? bytes : null
}

/** Decodes a key in base64, with or without padding; null if it is none, or empty. */
export function decodeKey(text: string): Buffer | null {
  const digits = text.includes('=') ? text.indexOf('=') : text.length
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) && digits % 4 !== 1 ? Buffer.from(text, 'base64') : null
}
