// http: what a workflow put into `$response`, as an HTTP response. What HTTP forbids is refused as a whole: nothing of
// it is sent.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { serialize } from 'hono/utils/cookie'
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import type { AnswerInit } from '../answers/answers.ts'
import { formatOf } from '../formats/negotiate.ts'
import { slices, type TextPieces } from '../answers/pieces.ts'

/** Tells why the `$response` of a service can't be sent. */
export class UnsafeResponse extends Error {
  override readonly name = 'UnsafeResponse'
}

/** RFC 9110, 7.6.1, and RFC 2616, 13.5.1: they belong to the connection, not to the answer. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
])

/**
 * Headers and cookies of an answer, and characters of all of them. Clients take less; what a webhook was sent may end
 * up here.
 */
const MAX_HEADERS = 256
const MAX_HEADERS_BYTES = 64 * 1024

/** Statuses whose answers have no body (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

// Literal lines write text.
const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
const scalar = z.union([z.string(), z.number(), z.boolean()])
const missing = z.null().transform(() => undefined)
const optional = <T extends z.ZodType>(type: T) => z.union([type, missing]).optional()

const code = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{3}$/)
      .transform(Number),
  ])
  .pipe(z.int().min(200).max(599))

const cookie = z.looseObject({
  name: z.string().refine((name) => name !== ''),
  value: optional(scalar),
  path: optional(z.string()),
  domain: optional(z.string()),
  /** Seconds. */
  maxAge: optional(
    z.union([
      z.number(),
      z
        .string()
        .regex(/^-?\d+$/)
        .transform(Number),
    ]),
  ),
  /** Epoch milliseconds, or a date as text. */
  expires: optional(
    z.union([
      z.number(),
      z
        .string()
        .regex(/^-?\d{5,}$/)
        .transform(Number),
      z.string(),
    ]),
  ),
  httpOnly: optional(flag),
  secure: optional(flag),
  sameSite: optional(z.string()),
})

/** What is sent. */
export interface ResponseBody {
  readonly content:
    { readonly bytes: Uint8Array<ArrayBuffer> } | { readonly value: Json; readonly pieces: TextPieces } | null
  readonly init: AnswerInit
}

/**
 * The response that `$response` describes; 200 if it names no code.
 * @throws UnsafeResponse
 */
export function responseOf(given: JsonObject, format: Codec): ResponseBody {
  const status = take(code.nullish(), given['responseCode'], 'responseCode must be an integer from 200 to 599') ?? 200
  const headers = [...headersOf(given['headers'] ?? []), ...cookiesOf(given['cookies'] ?? [])]
  const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (headers.length > MAX_HEADERS || size > MAX_HEADERS_BYTES)
    fail(`the headers and cookies are more than ${MAX_HEADERS}, or longer than ${MAX_HEADERS_BYTES} characters`)
  const encoded = take(flag.nullish(), given['encoded'], 'encoded must be true or false') ?? false
  return bodyOf(given['content'] ?? null, { status, headers, format, encoded })
}

/**
 * Text is plain text, data is in the format that its Content-Type names, else in the one asked for; null is no content
 * where `$response` says nothing else.
 */
export function bodyOf(
  content: Json,
  {
    status,
    headers,
    format,
    encoded = false,
    always = false,
  }: {
    readonly status: number
    readonly headers: [string, string][]
    readonly format: Codec
    /** The content is base64 of what is to be sent. */
    readonly encoded?: boolean
    /** null is data, too. */
    readonly always?: boolean
  },
): ResponseBody {
  if (BODILESS.has(status) || (content === null && !always))
    return { content: null, init: { status, headers: namesKept(headers) } }
  const [type, ...more] = headers.filter(([name]) => name.toLowerCase() === 'content-type').map(([, value]) => value)
  if (more.length > 0) fail('there are several Content-Types')
  const withType = (usual: string) => namesKept(type === undefined ? [...headers, ['Content-Type', usual]] : headers)
  if (typeof content !== 'string') {
    const own = type === undefined ? format : (formatOf(type, FORMATS) ?? JSON_FORMAT)
    return {
      content: { value: content, pieces: own.pieces(content, 'response') },
      init: { status, headers: withType(own.answerType) },
    }
  }
  if (encoded)
    return { content: { bytes: bytesOf(content) }, init: { status, headers: withType('application/octet-stream') } }
  return {
    content: { value: content, pieces: slices(content) },
    init: { status, headers: withType('text/plain; charset=UTF-8') },
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = base64.replaceAll(/\s/g, '')
  if (!/^[A-Za-z\d+/_-]*={0,2}$/.test(text)) fail('the content is said to be encoded and is no base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/** An object keeps the case of the names on their way out, a list doesn't; only a list can repeat a name. */
function namesKept(headers: [string, string][]): [string, string][] | { [name: string]: string } {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  return names.size === headers.length ? Object.fromEntries(headers) : headers
}

/** A list of `{name, value}`, or an object; a value that is a list stands for several headers. */
function headersOf(given: Json): [string, string][] {
  const entries: [string, unknown][] = Array.isArray(given)
    ? given.map((entry) =>
        isObject(entry) && typeof entry['name'] === 'string'
          ? [entry['name'], entry['value']]
          : fail('a header must be {name, value}'),
      )
    : isObject(given)
      ? Object.entries(given)
      : fail('headers must be a list or an object')
  const values = entries.map(([name, value]): [string, unknown[]] => [name, Array.isArray(value) ? value : [value]])
  // Before each of them is looked at: there may be a hundred thousand.
  if (values.reduce((sum, [, { length }]) => sum + length, 0) > MAX_HEADERS)
    fail(`there are more than ${MAX_HEADERS} headers`)
  return values.flatMap(([name, all]) => all.flatMap((one) => headerOf(name, one)))
}

/** Content-Length is left out: the server knows better. */
function headerOf(name: string, given: unknown): [string, string][] {
  const lower = name.toLowerCase()
  if (HOP_BY_HOP.has(lower)) fail(`the header ${lower} belongs to the connection`)
  if (given === null || given === undefined || lower === 'content-length') return []
  const value = String(take(scalar, given, 'the value of a header must be text'))
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    fail('a header has a name or a value that HTTP forbids')
  }
  return [[name, value]]
}

function cookiesOf(given: Json): [string, string][] {
  if (!Array.isArray(given)) fail('cookies must be a list')
  if (given.length > MAX_HEADERS) fail(`there are more than ${MAX_HEADERS} cookies`)
  return given.map((entry) => [
    'Set-Cookie',
    cookieOf(take(cookie, entry, 'a cookie must have a name, and attributes of the right types')),
  ])
}

function cookieOf({
  name,
  value = '',
  path,
  domain,
  maxAge,
  expires,
  httpOnly,
  secure,
  sameSite,
}: z.infer<typeof cookie>): string {
  const date = expires === undefined ? undefined : new Date(expires)
  if (date && Number.isNaN(date.getTime())) fail('a cookie expires at no date')
  const site = (['Strict', 'Lax', 'None'] as const).find((each) => each.toLowerCase() === sameSite?.toLowerCase())
  if (sameSite !== undefined && site === undefined) fail('sameSite of a cookie must be Strict, Lax or None')
  if (/\p{Cc}/u.test(String(value))) fail('a cookie has a value that HTTP forbids')
  let text
  try {
    // The library refuses names, paths and domains that would end the attribute.
    text = serialize(name, '', {
      ...(path === undefined ? {} : { path }),
      ...(domain === undefined ? {} : { domain }),
      ...(httpOnly ? { httpOnly } : {}),
      ...(secure ? { secure } : {}),
      ...(site ? { sameSite: site } : {}),
    })
    text = text.replace('=', () => `=${valueOf(String(value))}`)
    // Not by the library, which drops a negative age, the usual way to delete a cookie, and refuses more than 400 days:
    // it is the browser's to judge.
    if (maxAge !== undefined) text += `; Max-Age=${Math.trunc(maxAge)}`
    if (date) text += `; Expires=${date.toUTCString()}`
    validateHeaderValue('Set-Cookie', text)
  } catch {
    return fail('a cookie has a name, a value or an attribute that HTTP forbids')
  }
  return /^[!#$%&'*+\-.^_`|~\w]+$/.test(name) ? text : fail('a cookie has a name that HTTP forbids')
}

/**
 * As it is where a cookie can hold it (RFC 6265, 4.1.1): it may be signed. Else with escapes, which this server undoes,
 * and so are escapes themselves escaped.
 */
const valueOf = (value: string): string =>
  /^[\x21\x23-\x24\x26-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/.test(value) ? value : encodeURIComponent(value)

function take<T>(type: z.ZodType<T>, value: unknown, reason: string): T {
  const { success, data } = type.safeParse(value)
  return success ? data : fail(reason)
}

function fail(reason: string): never {
  throw new UnsafeResponse(reason)
}
