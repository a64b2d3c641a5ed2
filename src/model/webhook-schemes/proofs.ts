// model: what the schemes of webhooks share: headers and times of a request are read, and digests are computed,
// decoded, and compared in a time that reveals nothing of secrets.
import { hash, createHmac, timingSafeEqual } from 'node:crypto'
import type { DigestEncoding, HmacAlgorithm, ReceivedWebhook, WebhookScheme } from './scheme.ts'

/** Why a request proves nothing, or cannot be signed. */
export class NoProof extends Error {}

/** `check` as a scheme has it: the reason of a `NoProof` that it throws is its answer. */
export const proof =
  (check: WebhookScheme['verify']): WebhookScheme['verify'] =>
  (...given) => {
    try {
      return check(...given)
    } catch (error) {
      if (error instanceof NoProof) return error.message
      throw error
    }
  }

/**
 * The value of a header; each character is a byte. Names are not case-sensitive, and several names are spellings of one
 * header. Empty: it is absent or empty.
 * @throws NoProof when it came with different values (a proxy might read the other one), or is malformed
 */
export function optionalHeader({ headers }: ReceivedWebhook, name: string, spelling = name): string {
  const names = new Set([name.toLowerCase(), spelling.toLowerCase()])
  const values = new Set(headers.flatMap(([given, value]) => (names.has(given.toLowerCase()) ? [value] : [])))
  const [value = ''] = values
  if (values.size > 1) throw new NoProof(`the header "${name}" came twice with different values`)
  if (/[^\0-\u00FF]/.test(value)) throw new NoProof(`the header "${name}" is malformed`)
  return value
}

/** The same. @throws NoProof also when it is absent or empty */
export function headerOf(request: ReceivedWebhook, name: string, spelling = name): string {
  const value = optionalHeader(request, name, spelling)
  if (value === '') throw new NoProof(`the header "${name}" is missing`)
  return value
}

/** The bytes of a text whose characters are one byte each. */
export const rawBytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** The text as it stands in a header: each character is a byte of its UTF-8. */
export const bytesAsText = (text: string): string => Buffer.from(text).toString('latin1')

/** The time of a message, in whole seconds as headers have it. */
export const secondsOf = (ms: number): number => Math.floor(ms / 1000)

/** @throws NoProof when a time, in decimal unix seconds, is not acceptable now */
export function checkTime(text: string, toleranceS: number, nowMs: number): void {
  if (!/^\d{1,15}$/.test(text)) throw new NoProof('the timestamp is malformed')
  const age = secondsOf(nowMs) - Number(text)
  if (Math.abs(age) > toleranceS) throw new NoProof(`the message is ${age > 0 ? 'too old' : 'from the future'}`)
}

/** A text as a key is its UTF-8. */
export function hmacOf(algorithm: HmacAlgorithm, key: string | Uint8Array, content: readonly Uint8Array[]): Buffer {
  const hmac = createHmac(algorithm, key)
  for (const bytes of content) hmac.update(bytes)
  return hmac.digest()
}

/** Whether any is the HMAC with any of the keys. Empty keys are left out: anyone could sign with them. */
export const isSignedByOne = (
  given: readonly Uint8Array[],
  algorithm: HmacAlgorithm,
  keys: readonly (string | Uint8Array)[],
  content: readonly Uint8Array[],
): boolean =>
  haveCommon(
    given,
    keys.filter(({ length }) => length > 0).map((key) => hmacOf(algorithm, key, content)),
  )

/** Whether any is equal to any. All are compared, whatever the outcome. */
export const haveCommon = (some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean =>
  some
    .flatMap((one) => others.map((other) => one.length === other.length && timingSafeEqual(one, other)))
    .includes(true)

/**
 * Whether the bytes are one of the texts, which may have any length. Their hashes are compared, to hide the lengths.
 */
export const isOneOf = (bytes: Uint8Array, texts: readonly string[]): boolean =>
  haveCommon(
    [sha256(bytes)],
    texts.filter((text) => text !== '').map((text) => sha256(text)),
  )

export const sha256 = (data: Uint8Array | string): Buffer => hash('sha256', data, 'buffer')

/**
 * Decodes a digest. Null unless the text is what encoding the bytes gives, but for the case of hexadecimal digits and
 * for missing padding: Node would pass over anything else.
 */
export function decodeDigest(text: string, encoding: DigestEncoding): Buffer | null {
  const bytes = Buffer.from(text, encoding)
  const given = encoding === 'hex' ? text.toLowerCase() : bare(text)
  return given === bare(bytes.toString(encoding)) ? bytes : null
}

const bare = (base64: string) => base64.replace(/={1,2}$/, '')
