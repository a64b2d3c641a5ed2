// http: the headers of `$response`. Headers that HTTP forbids, or that belong to the connection, are refused.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isObject, type Json } from '../../model/json/value.ts'
import { refuse, scalar, fieldOf } from './response-fields.ts'

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

/** Most headers of an answer, and most cookies. Clients accept fewer; the data of a request may end up here. */
export const MAX_HEADERS = 256

/**
 * The headers from a list of `{name, value}`, or from an object. A value that is a list stands for several headers.
 * @throws UnsafeResponse
 */
export function headersOf(given: Json): [string, string][] {
  const entries: [string, unknown][] = Array.isArray(given)
    ? given.map((entry) =>
        isObject(entry) && typeof entry['name'] === 'string'
          ? [entry['name'], entry['value']]
          : refuse('a header must be {name, value}'),
      )
    : isObject(given)
      ? Object.entries(given)
      : refuse('headers must be a list or an object')
  const values = entries.map(([name, value]): [string, unknown[]] => [name, Array.isArray(value) ? value : [value]])
  // Counted before any of them is validated: there may be a hundred thousand.
  if (values.reduce((sum, [, { length }]) => sum + length, 0) > MAX_HEADERS)
    refuse(`there are more than ${MAX_HEADERS} headers`)
  return values.flatMap(([name, all]) => all.flatMap((one) => headerOf(name, one)))
}

/**
 * The header as it is sent. Content-Length is left out: the server computes it.
 * @throws UnsafeResponse
 */
export function headerOf(name: string, given: unknown): [string, string][] {
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
