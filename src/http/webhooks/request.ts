// http: turns a request to a webhook into `$request`, and into the texts that inputs take by their names.
import type { Context } from 'hono'
import { malformed, unsupportedType } from '../../model/failure.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { fieldsToJson, pairsOf, readPairs, type FormFields } from '../request/form-fields.ts'
import { headerOf, readBytes, type Env } from '../request/incoming.ts'
import { decodeWebhookBody, type WebhookLimits } from './body.ts'

export type { WebhookLimits }

export interface WebhookRequest {
  /** `$request` as services see it, including secrets. */
  readonly request: JsonObject
  /** The bytes of the body. */
  readonly rawBody: Buffer
  /**
   * The texts with that name: from the path, else from the query, else from the headers, whose names are compared in
   * the case in which the client wrote them. Empty if there are none. A name may occur several times in a query and in
   * headers.
   */
  readonly textsOf: (name: string) => readonly string[]
}

export interface RequestOptions {
  /** Parameters by name, decoded. */
  readonly path: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly timeout: number
  readonly limits: WebhookLimits
  /** Called with the bytes of memory that the request takes. @throws FluxError `overloaded` */
  readonly charge: (bytes: number) => void
}

/** @throws FluxError for a query or a body that cannot be read, or is too large */
export async function readWebhookRequest(
  c: Context<Env>,
  { path, timeout, limits, charge }: RequestOptions,
): Promise<WebhookRequest> {
  const uri = uriOf(c)
  const query = readQueryOf(uri, limits.maxParts)
  const inPath: FormFields<string> = new Map()
  for (const [name, value] of path) inPath.set(name, [value])
  const headers = headersOf(c)
  const coding = headerOf(c, 'content-encoding')?.trim().toLowerCase() ?? ''
  if (coding !== '' && coding !== 'identity') throw unsupportedType('the body must not be compressed')
  const rawBody = await readBytes(c, { limit: limits.maxBody, charge }, (bytes) => bytes)
  const contentType = headerOf(c, 'content-type')
  const { body, encoded } = await decodeWebhookBody(rawBody, contentType, limits)

  const request: JsonObject = {
    method: c.req.method,
    uri,
    contentType: contentType ?? null,
    headers: headers.map(([name, value]) => ({ name, value })),
    cookies: cookiesOf(headers),
    parameters: fieldsToJson(new Map([...query, ...inPath])),
    body,
    config: { timeout: timeout / 1000 },
    encoded,
  }
  const inHeaders = (name: string) => headers.filter(([spelled]) => spelled === name).map(([, value]) => value)
  return { request, rawBody, textsOf: (name) => inPath.get(name) ?? query.get(name) ?? inHeaders(name) }
}

/**
 * Path and query as they were sent. The origin, which a client may send before them as to a proxy, and a fragment are
 * removed.
 */
function uriOf(c: Context<Env>): string {
  const target = c.env === undefined ? c.req.url : (c.env.incoming.url ?? '')
  return target.replace(/^[A-Za-z][\w+.-]*:\/\/[^/?#]*/, '').split('#', 1)[0] ?? ''
}

function readQueryOf(uri: string, maxParts: number): FormFields<string> {
  const start = uri.indexOf('?')
  const pairs = start === -1 ? [] : pairsOf(uri.slice(start + 1))
  if (pairs.length > maxParts) throw malformed(`the query has more than ${maxParts} parameters`)
  return readPairs(pairs)
}

type Pair = readonly [name: string, value: string]

/**
 * The headers as they were sent, with order, case and repetitions. In tests without a socket, names are in lower case.
 */
function headersOf(c: Context<Env>): readonly Pair[] {
  if (c.env === undefined) return [...c.req.raw.headers]
  const { rawHeaders } = c.env.incoming
  const pairs: Pair[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''])
  return pairs
}

/**
 * The cookies (RFC 6265, 4.2.1). Quotes around a value are removed, and escapes are decoded, as answers write them. A
 * value with an invalid escape stays as it is.
 */
function cookiesOf(headers: readonly Pair[]): Json[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'cookie')
    .flatMap(([, value]) => value.split(';'))
    .flatMap((pair) => {
      const equals = pair.indexOf('=')
      if (equals === -1) return []
      return [
        {
          name: pair.slice(0, equals).trim(),
          value: cookieValue(
            pair
              .slice(equals + 1)
              .trim()
              .replace(/^"(.*)"$/, '$1'),
          ),
        },
      ]
    })
}

function cookieValue(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
