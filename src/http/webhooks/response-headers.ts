// http: the headers and cookies of `$response`, and the types of its fields. If a value has another type, or HTTP forbids
// it, nothing of the response is sent.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { z } from 'zod'
import { isObject, type Json } from '../../model/json/value.ts'

/** The `$response` of a service cannot be sent; the message says why. */
export class UnsafeResponse extends Error {
  override readonly name = 'UnsafeResponse'
}

/** A boolean, also as text, since lines with literals write text. */
export const booleanField = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')])
/** The value of a header or a cookie. */
const scalar = z.union([z.string(), z.number(), z.boolean()])
const missing = z.null().transform(() => undefined)
/** null counts as not set. */
const optional = <T extends z.ZodType>(type: T) => z.union([type, missing]).optional()

/** A number, or a text of digits. */
export const numeral = (pattern: RegExp) => z.union([z.number(), z.string().regex(pattern).transform(Number)])

/** @throws UnsafeResponse with the reason when the value is of another type */
export function fieldOf<T>(type: z.ZodType<T>, value: unknown, reason: string): T {
  const { success, data } = type.safeParse(value)
  return success ? data : refuse(reason)
}

/** @throws UnsafeResponse */
export function refuse(reason: string): never {
  throw new UnsafeResponse(reason)
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
 * Most headers and cookies of an answer, and most characters of them. Clients accept fewer; the data of a request may end
 * up here.
 */
const [MAX_HEADERS, MAX_CHARACTERS] = [256, 64 * 1024]

/**
 * The headers: `given` is a list of `{name, value}`, or an object, in which a value that is a list stands for several
 * headers; and the cookies.
 * @throws UnsafeResponse
 */
export function headersOf(given: Json, cookies: Json): [string, string][] {
  const pairs = pairsOf(given)
  if (!Array.isArray(cookies)) return refuse('cookies must be a list')
  // Counted before any of them is validated: there may be a hundred thousand.
  if (pairs.length + cookies.length > MAX_HEADERS) refuse(`there are more than ${MAX_HEADERS} headers and cookies`)
  const headers = [
    ...pairs.flatMap(([name, value]) => headerOf(name, value)),
    ...cookies.flatMap((each) => headerOf('Set-Cookie', cookieOf(fieldOf(cookie, each, COOKIE)))),
  ]
  const characters = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (characters > MAX_CHARACTERS) refuse(`the headers and cookies are longer than ${MAX_CHARACTERS} characters`)
  return headers
}

function pairsOf(given: Json): [string, unknown][] {
  const entries: [string, unknown][] = Array.isArray(given)
    ? given.map((entry) =>
        isObject(entry) && typeof entry['name'] === 'string'
          ? [entry['name'], entry['value']]
          : refuse('a header must be {name, value}'),
      )
    : isObject(given)
      ? Object.entries(given)
      : refuse('headers must be a list or an object')
  return entries.flatMap(([name, value]) => {
    const values: unknown[] = Array.isArray(value) ? value : [value]
    return values.map((one): [string, unknown] => [name, one])
  })
}

/** Content-Length is left out: the server computes it. */
function headerOf(name: string, given: unknown): [string, string][] {
  const lower = name.toLowerCase()
  if (HOP_BY_HOP.has(lower)) refuse(`the header ${lower} belongs to the connection`)
  if (given === null || given === undefined || lower === 'content-length') return []
  const value = String(fieldOf(scalar, given, 'the value of a header must be text'))
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    refuse('a header has a name or a value that HTTP forbids')
  }
  return [[name, value]]
}

const cookie = z.looseObject({
  name: z.string().refine((name) => name !== ''),
  value: optional(scalar),
  path: optional(z.string()),
  domain: optional(z.string()),
  /** Seconds. */
  maxAge: optional(numeral(/^-?\d+$/)),
  /** Epoch milliseconds, or a date as text. */
  expires: optional(z.union([numeral(/^-?\d{5,}$/), z.string()])),
  httpOnly: optional(booleanField),
  secure: optional(booleanField),
  sameSite: optional(z.string()),
})

const COOKIE = 'a cookie must have a name, and attributes of the right types'

/** The value of Set-Cookie. */
function cookieOf(given: z.infer<typeof cookie>): string {
  const { name, value = '', path, domain, maxAge, expires, httpOnly, secure, sameSite } = given
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) refuse('a cookie has a name that HTTP forbids')
  if (/\p{Cc}/u.test(String(value))) refuse('a cookie has a value that HTTP forbids')
  for (const text of [path, domain])
    if (text !== undefined && /[;\p{Cc}]/u.test(text)) refuse('a cookie has an attribute that HTTP forbids')
  const date = expires === undefined ? undefined : new Date(expires)
  if (date && Number.isNaN(date.getTime())) refuse('a cookie expires at no date')
  const site = ['Strict', 'Lax', 'None'].find((each) => each.toLowerCase() === sameSite?.toLowerCase())
  if (sameSite !== undefined && site === undefined) refuse('sameSite of a cookie must be Strict, Lax or None')
  return [
    `${name}=${valueOf(String(value))}`,
    ...(domain === undefined ? [] : [`Domain=${domain}`]),
    ...(path === undefined ? [] : [`Path=${path}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(secure ? ['Secure'] : []),
    ...(site === undefined ? [] : [`SameSite=${site}`]),
    ...(maxAge === undefined ? [] : [`Max-Age=${Math.trunc(maxAge)}`]),
    ...(date ? [`Expires=${date.toUTCString()}`] : []),
  ].join('; ')
}

/**
 * The value as it is if a cookie can contain it (RFC 6265, 4.1.1), because it may be signed. Otherwise, and if it has a
 * `%`, it is escaped; this server undoes that.
 */
const valueOf = (value: string): string =>
  /^[\x21\x23-\x24\x26-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]*$/.test(value) ? value : encodeURIComponent(value)
