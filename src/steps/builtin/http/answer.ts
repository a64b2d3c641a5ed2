// steps: converts the response to a request to data.
import type { IncomingMessage } from 'node:http'
import { pipeline, type Duplex } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { charsetOfXml, textIn } from '../../../model/charset.ts'
import { setOwn, type Json, type JsonObject } from '../../../model/json/value.ts'
import { excessOf } from '../../../model/json/text.ts'
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

/**
 * @throws HttpError if the body is longer than `maxSize` bytes, has too many content codings, is nested too deep, or
 * cannot be decompressed
 */
export async function httpAnswerOf(response: IncomingMessage, url: URL, maxSize: number): Promise<HttpAnswer> {
  const contentType = response.headers['content-type'] ?? null
  const unpackers = unpackersOf(response.headers['content-encoding'] ?? '')
  const bytes = await bytesOf(unpacked(response, unpackers ?? []), maxSize)
  // A body with an unknown content coding is returned as bytes.
  const body =
    unpackers === null && bytes.length > 0
      ? { body: bytes.toString('base64'), encoded: true }
      : bodyOf(bytes, contentType ?? '')
  return { status: response.statusCode ?? 0, headers: headersOf(response), contentType, ...body, url: url.href }
}

/** Bytes of a body that are read so that the receiver is not cut off while it writes; nobody needs them. */
const DRAINED_BYTES = 64 * 1024

/** The answer with its headers alone. A body that breaks off, or is long, changes nothing. */
export async function answerWithoutBody(response: IncomingMessage, url: URL): Promise<HttpAnswer> {
  const chunks: AsyncIterable<Buffer> = response
  let size = 0
  try {
    for await (const { length } of chunks) if ((size += length) > DRAINED_BYTES) break
  } catch {
    // What is not read any more cannot fail.
  }
  const contentType = response.headers['content-type'] ?? null
  const headers = headersOf(response)
  return { status: response.statusCode ?? 0, headers, contentType, body: null, encoded: false, url: url.href }
}

function headersOf({ headersDistinct }: IncomingMessage): JsonObject {
  const headers: JsonObject = {}
  for (const [name, values = []] of Object.entries(headersDistinct))
    setOwn(headers, name, name === 'set-cookie' ? values : values.join(', '))
  return headers
}

/**
 * Decompresses the body: some servers compress without being asked. An empty body, as for HEAD, is not decompressed,
 * even if the header names a coding.
 */
async function* unpacked(response: IncomingMessage, unpackers: readonly Unpacker[]): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = response[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done) return
  const all = joined(first.value, chunks)
  if (unpackers.length === 0) return yield* all
  let stream: AsyncIterable<Buffer> = all
  // Errors reach the reader through the stream, so the callback does nothing.
  for (const unpacker of unpackers) stream = pipeline(stream, unpacker(first.value), () => {})
  try {
    yield* stream
  } catch (error) {
    throw error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
      ? new HttpError('the answer is not what its Content-Encoding says', { cause: error })
      : error
  }
}

async function* joined(first: Buffer, others: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await others.next(); !next.done; next = await others.next()) yield next.value
}

type Unpacker = (first: Buffer) => Duplex

/** Maximum number of content codings of one response: each takes memory and time. */
const MAX_CODINGS = 4

/**
 * The decompressors, in the order of decoding; null: a coding is unknown. @throws HttpError for more than `MAX_CODINGS`
 */
function unpackersOf(encodings: string): readonly Unpacker[] | null {
  const names = encodings
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .toReversed()
  if (names.length > MAX_CODINGS)
    throw new HttpError(`the Content-Encoding of the answer lists more than ${MAX_CODINGS} codings`)
  const unpackers = names.map((name, place) => unpackerOf(name, place === 0)).filter((unpacker) => unpacker !== null)
  return unpackers.length < names.length ? null : unpackers
}

function unpackerOf(encoding: string, isFirst: boolean): Unpacker | null {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return () => createGunzip()
    case 'br':
      return () => createBrotliDecompress()
    // Some servers send raw deflate data without the zlib header (RFC 9110, 8.4.1.2, note).
    case 'deflate':
      return ([byte = 0]) => (!isFirst || (byte & 15) === 8 ? createInflate() : createInflateRaw())
    default:
      return null
  }
}

async function bytesOf(stream: AsyncIterable<Buffer>, maxSize: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const bytes of stream) {
    size += bytes.length
    if (size > maxSize) throw new HttpError(`the answer is larger than ${maxSize} bytes`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

const IS_JSON = /^application\/(?:[^;]*\+)?json$/
const IS_XML = /^(?:text|application)\/(?:[^;]*\+)?xml$/
const IS_TEXT = /^(?:text\/.*|application\/(?:[^;]*\+)?xml|application\/x-www-form-urlencoded)$/

function bodyOf(bytes: Buffer, contentType: string): { body: Json; encoded: boolean } {
  if (bytes.length === 0) return { body: null, encoded: false }
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (IS_JSON.test(type)) return { body: parsed(new TextDecoder().decode(bytes)), encoded: false }
  if (IS_TEXT.test(type)) {
    const given = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]
    return { body: textOf(bytes, IS_XML.test(type) ? charsetOfXml(bytes, given) : (given ?? 'utf-8')), encoded: false }
  }
  return { body: bytes.toString('base64'), encoded: true }
}

/** Nesting depth, more than a context accepts. */
const MAX_DEPTH = 1000

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

/** The decoded text without a byte order mark. Invalid bytes become U+FFFD. An unknown charset is read as UTF-8. */
function textOf(bytes: Buffer, charset: string): string {
  try {
    return textIn(bytes, charset, { strict: false }).replace(/^\uFEFF/, '')
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
