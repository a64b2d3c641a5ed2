// steps: checks the arguments of `Http.request`, and converts them to a request.
import { isObject, type Json, type JsonObject } from '../../../model/json/value.ts'

const MIB_BYTES = 1024 * 1024
const MAX_SIZE_BYTES = 16 * MIB_BYTES
/** The longest time that a timer supports. */
const MAX_TIMEOUT_SECONDS = 2_147_483

/**
 * Headers that are ignored: those of the connection (RFC 9110, 7.6.1), and those that are derived from URL and body. A
 * workflow that forwards the headers it received would set wrong values.
 */
const IGNORED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
])

export type HttpCall = Readonly<ReturnType<typeof httpCall>>

/**
 * A request that cannot be sent, or whose response cannot be read. The message contains neither IP addresses nor
 * secrets.
 */
export class HttpError extends Error {
  override readonly name = 'HttpError'
}

/** @param traceparent sent unless the service sends a header of that name. @throws HttpError */
export function httpCall(args: JsonObject, traceparent?: string) {
  const { method, url, query, timeout, followRedirects, maxSize, body, encoded } = args
  const headers = headersOf(args['headers'] ?? null)
  const call = {
    method: methodOf(method ?? 'GET'),
    url: withQuery(urlOf(url ?? null), query ?? null),
    /** Milliseconds. */
    timeout: numberOf('timeout', timeout ?? 30, MAX_TIMEOUT_SECONDS) * 1000,
    followRedirects: flagOf('followRedirects', followRedirects ?? true),
    /** Bytes. */
    maxSize: numberOf('maxSize', maxSize ?? MIB_BYTES, MAX_SIZE_BYTES),
    headers,
    body: bodyOf(body ?? null, flagOf('encoded', encoded ?? false), headers),
  }
  if (!headers.has('user-agent')) headers.set('user-agent', 'actorflux')
  if (traceparent !== undefined && !headers.has('traceparent')) headers.set('traceparent', traceparent)
  return call
}

/** @throws HttpError if the value is not an http or https URL, or has credentials */
export function urlOf(value: Json, base?: URL): URL {
  if (typeof value !== 'string' || !URL.canParse(value, base?.href))
    throw new HttpError(base ? 'the answer redirects to no URL' : '"url" must be an absolute URL')
  const url = new URL(value, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new HttpError('only URLs of http and https can be requested')
  if (url.username !== '' || url.password !== '')
    throw new HttpError('a URL with a user or a password is not taken: send an Authorization header')
  return url
}

function methodOf(value: Json) {
  if (typeof value !== 'string' || !/^[A-Za-z][A-Za-z-]*$/.test(value))
    throw new HttpError('"method" must be the name of an HTTP method')
  const method = value.toUpperCase()
  if (method === 'CONNECT' || method === 'TRACE') throw new HttpError(`the method ${method} is not allowed`)
  return method
}

/** `{ a: 1, b: [2, 3] }` as pairs of strings. null is omitted. */
function pairsOf(value: JsonObject): [string, string][] {
  return Object.entries(value).flatMap(([name, item]) =>
    [item]
      .flat()
      .filter((one) => one !== null)
      .map((one): [string, string] => [name, typeof one === 'object' ? JSON.stringify(one) : String(one)]),
  )
}

function withQuery(url: URL, query: Json) {
  if (query !== null && !isObject(query)) throw new HttpError('"query" must be an object')
  for (const [name, text] of pairsOf(query ?? {})) url.searchParams.append(name, text)
  return url
}

/** Repeated headers are joined (RFC 9110, 5.3; for cookies RFC 6265, 5.4). */
function headersOf(value: Json) {
  const headers = new Headers()
  for (const [name, text] of headerPairs(value)) {
    if (IGNORED_HEADERS.has(name.toLowerCase())) continue
    try {
      headers.append(name, text)
    } catch {
      throw new HttpError(`HTTP forbids the header ${JSON.stringify(name)}, or its value`)
    }
  }
  return headers
}

/** Headers as pairs of strings: an object, or a list of `{ name, value }`. @throws HttpError */
export function headerPairs(value: Json): [string, string][] {
  if (value === null) return []
  if (isObject(value)) return pairsOf(value)
  if (!Array.isArray(value)) throw new HttpError('"headers" must be an object, or a list of { name, value }')
  return value.flatMap((item) => {
    if (!isObject(item) || typeof item['name'] !== 'string')
      throw new HttpError('each of "headers" must be { name, value }')
    return pairsOf({ [item['name']]: item['value'] ?? null })
  })
}

/** The body as text, or as bytes if it is base64. Sets the header `content-type` if it is missing. */
function bodyOf(value: Json, encoded: boolean, headers: Headers) {
  if (value === null) return null
  const isText = typeof value === 'string'
  if (encoded && !(isText && value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)))
    throw new HttpError('"body" must be base64 where "encoded" is true')
  const own = encoded ? 'application/octet-stream' : isText ? 'text/plain;charset=UTF-8' : 'application/json'
  const type = headers.get('content-type') ?? own
  headers.set('content-type', type)
  if (isText) return encoded ? Buffer.from(value, 'base64') : value
  return /^\s*application\/x-www-form-urlencoded\b/i.test(type) && isObject(value)
    ? new URLSearchParams(pairsOf(value)).toString()
    : JSON.stringify(value)
}

function numberOf(key: string, value: Json, max: number) {
  if (typeof value === 'number' && value > 0 && value <= max) return value
  throw new HttpError(`"${key}" must be a number above 0, and at most ${max}`)
}

function flagOf(key: string, value: Json) {
  if (typeof value === 'boolean') return value
  throw new HttpError(`"${key}" must be true or false`)
}
