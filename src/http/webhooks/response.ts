// http: turns `$response` into an HTTP response. If HTTP forbids any part of it, nothing of it is sent.
import { z } from 'zod'
import type { Json, JsonObject } from '../../model/json/value.ts'
import type { AnswerInit } from '../answers/answers.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import { booleanField, fieldOf, headersOf, numeral, refuse } from './response-headers.ts'

/** Statuses whose answers have no body (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

const code = numeral(/^\d{3}$/).pipe(z.int().min(200).max(599))

/** A response, ready to be sent. */
export interface ResponseBody {
  /** A text, bytes, or data and the format in which it is sent; null: it has none. */
  readonly content: string | Uint8Array<ArrayBuffer> | { readonly value: Json; readonly format: Codec } | null
  readonly init: AnswerInit
}

/**
 * The response that `$response` describes; 200 if it names no code.
 * @throws UnsafeResponse
 */
export function responseOf(given: JsonObject, format: Codec): ResponseBody {
  const status =
    fieldOf(code.nullish(), given['responseCode'], 'responseCode must be an integer from 200 to 599') ?? 200
  const headers = headersOf(given['headers'] ?? [], given['cookies'] ?? [])
  const encoded = fieldOf(booleanField.nullish(), given['encoded'], 'encoded must be true or false') ?? false
  return bodyOf(given['content'] ?? null, { status, headers, format, encoded })
}

/**
 * Text is sent as plain text; data is sent in the format that its Content-Type names, else in the requested one. null
 * means no content, unless `always` is set.
 * @throws UnsafeResponse
 */
export function bodyOf(
  content: Json,
  { status, headers = [], format, encoded = false, always = false }: BodyOptions,
): ResponseBody {
  const types = headers.filter(([name]) => name.toLowerCase() === 'content-type')
  const [type] = types.map(([, value]) => value)
  const responseWith = (sent: ResponseBody['content'], usual: string): ResponseBody => ({
    content: sent,
    init: { status, headers: namesKept(type === undefined ? [...headers, ['Content-Type', usual]] : headers) },
  })
  if (BODILESS.has(status) || (content === null && !always))
    return { content: null, init: { status, headers: namesKept(headers) } }
  if (types.length > 1) refuse('there are several Content-Types')
  if (typeof content === 'string')
    return encoded
      ? responseWith(bytesOf(content), 'application/octet-stream')
      : responseWith(content, 'text/plain; charset=UTF-8')
  const own = type === undefined ? format : (formatOf(type, FORMATS) ?? JSON_FORMAT)
  return responseWith({ value: content, format: own }, own.answerType)
}

interface BodyOptions {
  readonly status: number
  readonly headers?: [string, string][]
  readonly format: Codec
  /** Whether the content is base64 of the bytes to send. */
  readonly encoded?: boolean
  /** Whether null is data. */
  readonly always?: boolean
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = base64.replaceAll(/\s/g, '')
  if (!/^[A-Za-z\d+/_-]*={0,2}$/.test(text)) refuse('the content is said to be encoded and is no base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/**
 * The headers as an object, which keeps the case of the names, or, if a name is repeated, as a list, which does not.
 */
function namesKept(headers: [string, string][]): [string, string][] | { [name: string]: string } {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  return names.size === headers.length ? Object.fromEntries(headers) : headers
}
