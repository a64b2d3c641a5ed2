// steps: converts the response to a request to data.
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { excessOf } from '../../../model/json/text.ts'
import { getOwn, setOwn, type Json, type JsonObject } from '../../../model/json/value.ts'
import { HttpError } from './call.ts'

/** A type, not an interface, so that it is assignable to JSON. */
export type HttpAnswer = {
  status: number
  /** By lower-case name. Repeated headers are joined by commas, except `set-cookie`, which is an array. */
  headers: JsonObject
  contentType: string | null
  /** Parsed data for JSON, a string for text, base64 for anything else; null: there is no body. */
  body: Json
  /** Whether the body is base64. */
  encoded: boolean
  /** The URL that answered, after redirects. */
  url: string
}

/** What is needed of the response to a request. */
export interface HttpResponse
  extends AsyncIterable<Buffer>, Pick<IncomingMessage, 'statusCode' | 'headers' | 'headersDistinct'> {
  destroy(): unknown
}

/** Bytes of a body that are read so that the receiver is not cut off while it writes; nothing needs them. */
const DRAINED_BYTES = 64 * 1024

/**
 * @param maxSize bytes of the body; null: the answer has status and headers alone, and a body that breaks off, or is long,
 * changes nothing
 * @throws HttpError if the body is longer than `maxSize` bytes, has too many content codings, is nested too deep, or
 * cannot be decompressed
 */
export async function httpAnswerOf(response: HttpResponse, url: URL, maxSize: number | null): Promise<HttpAnswer> {
  const { statusCode: status = 0, headersDistinct } = response
  const { 'content-encoding': encodings = '', 'content-type': contentType } = response.headers
  const headers: JsonObject = {}
  for (const [name, values = []] of Object.entries(headersDistinct))
    setOwn(headers, name, name === 'set-cookie' ? values : values.join(', '))
  const answer = { status, headers, contentType: contentType ?? null, body: null, encoded: false, url: url.href }
  if (maxSize === null) {
    await bytesOf(response, DRAINED_BYTES).catch(() => {})
    return answer
  }
  const bytes = await bytesOf(response, maxSize)
  const plain = await unpacked(bytes, encodings, maxSize)
  // A body with an unknown content coding is returned as bytes.
  const body = plain && dataOf(plain, contentType ?? '')
  return body ? { ...answer, ...body } : { ...answer, body: (plain ?? bytes).toString('base64'), encoded: true }
}

async function bytesOf(stream: AsyncIterable<Buffer>, maxSize: number) {
  const chunks: Buffer[] = []
  let size = 0
  for await (const bytes of stream) {
    size += bytes.length
    if (size > maxSize) throw tooLarge(maxSize)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

const tooLarge = (maxSize: number) => new HttpError(`the answer is larger than ${maxSize} bytes`)

/** Maximum number of content codings of one response: each takes memory and time. */
const MAX_CODINGS = 4

type Unpack = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

const UNPACK: { readonly [coding: string]: Unpack } = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  // Some servers send raw deflate data without the zlib header (RFC 9110, 8.4.1.2, note).
  deflate: (bytes, options) => promisify(((bytes[0] ?? 0) & 15) === 8 ? inflate : inflateRaw)(bytes, options),
}

/**
 * The decompressed body: some servers compress without being asked. An empty body, as for HEAD, is not decompressed, even
 * if the header names a coding. null: a coding is unknown.
 */
async function unpacked(packed: Buffer, encodings: string, maxSize: number) {
  const codings = encodings
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
  if (codings.length > MAX_CODINGS)
    throw new HttpError(`the Content-Encoding of the answer lists more than ${MAX_CODINGS} codings`)
  let bytes = packed
  for (const coding of codings.toReversed()) {
    const unpack = getOwn(UNPACK, coding)
    if (bytes.length === 0) return bytes
    if (unpack === undefined) return null
    try {
      bytes = await unpack(bytes, { maxOutputLength: Math.ceil(maxSize) })
    } catch (cause) {
      throw cause instanceof RangeError
        ? tooLarge(maxSize)
        : new HttpError('the answer is not what its Content-Encoding says', { cause })
    }
  }
  return bytes
}

const IS_JSON = /^application\/(?:[^;]*\+)?json$/
const IS_TEXT = /^(?:text\/.*|application\/(?:[^;]*\+)?xml|application\/x-www-form-urlencoded)$/

/** The body as data or text; null: it is neither. */
function dataOf(bytes: Buffer, contentType: string) {
  if (bytes.length === 0) return { body: null }
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (IS_JSON.test(type)) return { body: parsed(new TextDecoder().decode(bytes)) }
  return IS_TEXT.test(type) ? { body: textOf(bytes, contentType) } : null
}

/** Nesting depth of a body. A context accepts values of 200 levels, of which the answer itself is one. */
const MAX_DEPTH = 199

/** The parsed JSON. Invalid JSON is returned as text, because the status may still be useful. */
function parsed(text: string): Json {
  // Checked first: parsing a megabyte of brackets takes hundreds of milliseconds.
  if (excessOf(text, { maxDepth: MAX_DEPTH, maxValues: Infinity })) throw new HttpError('the answer is nested too deep')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** In the Content-Type, or else in the declaration of an XML document (RFC 7303, 3). */
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i
const MAX_DECLARATION_CHARACTERS = 200
/** One that can be read as ASCII is not in UTF-16, even if it says so. */
const DECLARATION = /^<\?xml\s[^>]*?\sencoding\s*=\s*["'](?!utf-?16)([A-Za-z][-.\w]*)["']/i

/**
 * Bytes 80 to 9F in windows-1252, which `iso-8859-1` also denotes (WHATWG Encoding). Node 20 decodes them as control
 * characters.
 */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ'

/** The decoded text without a byte order mark. Invalid bytes become U+FFFD. An unknown charset is read as UTF-8. */
function textOf(bytes: Buffer, contentType: string) {
  const latin1 = bytes.toString('latin1')
  const [, charset = 'utf-8'] =
    CHARSET.exec(contentType) ?? DECLARATION.exec(latin1.slice(0, MAX_DECLARATION_CHARACTERS)) ?? []
  const decoder = decoderOf(charset)
  if (decoder.encoding !== 'windows-1252') return decoder.decode(bytes)
  return latin1.replaceAll(/[\x80-\x9f]/g, (byte) => WINDOWS_1252.charAt(byte.charCodeAt(0) - 0x80))
}

function decoderOf(charset: string) {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
