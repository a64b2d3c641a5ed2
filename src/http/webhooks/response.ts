// http: turns `$response` into an HTTP response. If a field of it has another type, or HTTP forbids it, nothing of it is
// sent.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { Context } from 'hono'
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import { HEADER_NAME_PATTERN } from '../../model/webhook-schemes/scheme.ts'
import type { Answers } from '../answers/answers.ts'
import { FORMATS, JSON_FORMAT, type Codec } from '../formats/codecs.ts'
import { formatOf } from '../formats/negotiate.ts'
import type { Env } from '../request/incoming.ts'

/** The `$response` of a service cannot be sent; the message says why. */
export class UnsafeResponse extends Error {
  override readonly name = 'UnsafeResponse'
}

/** @throws UnsafeResponse */
function refuse(reason: string): never {
  throw new UnsafeResponse(reason)
}

/** @throws UnsafeResponse when the value is not as the type has it */
function fieldOf<T>(type: z.ZodType<T>, value: unknown, name: string): T {
  const { success, data, error } = type.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  return refuse([name, ...(issue?.path ?? []), issue?.message].join(' '))
}

/** A boolean, also as text, since lines with literals write text. */
const boolean = z.union([z.boolean(), z.stringbool()])
/** A number, or a text of digits. */
const numeral = (pattern: RegExp) => z.union([z.number(), z.string().regex(pattern).transform(Number)])
/** The value of a header or a cookie. */
const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String)

const code = numeral(/^\d{3}$/).refine(
  (status) => Number.isInteger(status) && status >= 200 && status <= 599,
  'must be an integer from 200 to 599',
)

const attribute = z.string().regex(/^[^;\p{Cc}]*$/u)
const cookie = z.object({
  name: z.string().regex(HEADER_NAME_PATTERN),
  value: scalar.pipe(z.string().regex(/^\P{Cc}*$/u)).nullish(),
  path: attribute.nullish(),
  domain: attribute.nullish(),
  /** Seconds. */
  maxAge: numeral(/^-?\d+$/).nullish(),
  /** Epoch milliseconds, or a date as text. */
  expires: z
    .union([numeral(/^-?\d{5,}$/), z.string()])
    .pipe(z.coerce.date())
    .nullish(),
  httpOnly: boolean.nullish(),
  secure: boolean.nullish(),
  sameSite: z
    .string()
    .transform((site) => site.charAt(0).toUpperCase() + site.slice(1).toLowerCase())
    .pipe(z.enum(['Strict', 'Lax', 'None']))
    .nullish(),
})

const part = (name: string, value: unknown) => ((value ?? null) === null ? [] : [`${name}=${value}`])

/** The value of Set-Cookie. */
function cookieOf({ name, value, path, domain, maxAge, expires, httpOnly, secure, sameSite }: z.infer<typeof cookie>) {
  return [
    `${name}=${cookieValue(value ?? '')}`,
    ...part('Domain', domain),
    ...part('Path', path),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(secure ? ['Secure'] : []),
    ...part('SameSite', sameSite),
    ...part('Max-Age', maxAge && Math.trunc(maxAge)),
    ...part('Expires', expires?.toUTCString()),
  ].join('; ')
}

/**
 * The value as it is if a cookie can contain it (RFC 6265, 4.1.1), because it may be signed. Otherwise, and if it has a
 * `%`, it is escaped; this server undoes that.
 */
const cookieValue = (value: string): string =>
  /^[\x21\x23-\x24\x26-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/.test(value) ? value : encodeURIComponent(value)

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
 * Most headers and cookies of an answer, and most characters of them. Clients accept fewer; the data of a request may end
 * up here.
 */
const [MAX_HEADERS, MAX_CHARACTERS] = [256, 64 * 1024]

/**
 * The headers: `given` is a list of `{name, value}`, or an object, in which a value that is a list stands for several
 * headers; and the cookies.
 * @throws UnsafeResponse
 */
function headersOf(given: Json, cookies: Json): [string, string][] {
  const pairs = pairsOf(given)
  if (!Array.isArray(cookies)) return refuse('cookies must be a list')
  // Counted before any of them is validated: there may be a hundred thousand.
  if (pairs.length + cookies.length > MAX_HEADERS) refuse(`there are more than ${MAX_HEADERS} headers and cookies`)
  const headers = [
    ...pairs.flatMap(([name, value]) => headerOf(name, value)),
    ...cookies.flatMap((each) => headerOf('Set-Cookie', cookieOf(fieldOf(cookie, each, 'cookie')))),
  ]
  const characters = headers.flat().join('').length
  if (characters > MAX_CHARACTERS) refuse(`the headers and cookies are longer than ${MAX_CHARACTERS} characters`)
  return headers
}

function pairsOf(given: Json): [string, Json][] {
  if (!Array.isArray(given) && !isObject(given)) return refuse('headers must be a list or an object')
  const entries = Array.isArray(given)
    ? given.map((entry): [string, Json] =>
        isObject(entry) && typeof entry['name'] === 'string'
          ? [entry['name'], entry['value'] ?? null]
          : refuse('a header must be {name, value}'),
      )
    : Object.entries(given)
  return entries.flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): [string, Json] => [name, one]),
  )
}

/** Content-Length is left out: the server computes it. */
function headerOf(name: string, given: Json): [string, string][] {
  const lower = name.toLowerCase()
  if (HOP_BY_HOP.has(lower)) refuse(`the header ${lower} belongs to the connection`)
  if (given === null || lower === 'content-length') return []
  const value = fieldOf(scalar, given, 'header')
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    refuse('a header has a name or a value that HTTP forbids')
  }
  return [[name, value]]
}

/** Statuses whose answers have no body (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** A response whose headers and body are valid. */
export interface ReadyResponse {
  readonly status: number
  /** @throws FluxError `overloaded` */
  readonly send: (c: Context<Env>, answers: Answers) => Response | Promise<Response>
}

/**
 * The response that `$response` describes; 200 if it names no code.
 * @throws UnsafeResponse
 */
export function responseOf({ responseCode, headers, cookies, encoded, content }: JsonObject, format: Codec) {
  const status = fieldOf(code.nullish(), responseCode, 'responseCode') ?? 200
  const isPacked = fieldOf(boolean.nullish(), encoded, 'encoded') && typeof content === 'string'
  const body = isPacked ? bytesOf(content) : (content ?? undefined)
  return bodyOf(body, status, format, headersOf(headers ?? [], cookies ?? []))
}

function bytesOf(content: string) {
  const base64 = content.replaceAll(/\s/g, '')
  if (!/^[A-Za-z\d+/_-]*={0,2}$/.test(base64)) refuse('the content is said to be encoded and is no base64')
  return new Uint8Array(Buffer.from(base64, 'base64'))
}

/**
 * Text is sent as plain text; data is sent in the format that its Content-Type names, else in the requested
 * one. undefined: there is none.
 * @throws UnsafeResponse
 */
export function bodyOf(
  content: Json | Uint8Array<ArrayBuffer> | undefined,
  status: number,
  format: Codec,
  headers: [string, string][] = [],
): ReadyResponse {
  if (BODILESS.has(status) || content === undefined)
    return { status, send: () => new Response(null, { status, headers: namesKept(headers) }) }
  const [type, ...others] = headers.flatMap(([name, value]) => (name.toLowerCase() === 'content-type' ? value : []))
  if (others.length > 0) refuse('there are several Content-Types')
  const initWith = (usual: string) => ({
    status,
    headers: namesKept(type === undefined ? [...headers, ['Content-Type', usual]] : headers),
  })
  return {
    status,
    send(c, answers) {
      if (typeof content === 'string') return answers.text(c, content, initWith('text/plain; charset=UTF-8'))
      if (content instanceof Uint8Array) return answers.bytes(c, content, initWith('application/octet-stream'))
      const own = type === undefined ? format : (formatOf(type, FORMATS) ?? JSON_FORMAT)
      return answers.send(c, content, own, 'response', initWith(own.answerType))
    },
  }
}

/**
 * The headers as an object, which keeps the case of the names, or, if a name is repeated, as a list, which does not.
 */
function namesKept(headers: [string, string][]): [string, string][] | { [name: string]: string } {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  return names.size === headers.length ? Object.fromEntries(headers) : headers
}
