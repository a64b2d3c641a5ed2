// http: turns a request to a webhook into `$request`.
import type { Context } from 'hono'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { REDACTED } from '../../model/secret-names.ts'
import { UNREADABLE } from '../../model/webhook.ts'
import type { HeaderPair } from '../../model/webhook-schemes/scheme.ts'
import { requireUncompressed } from '../request/body.ts'
import { fieldsToJson, formFieldsOf, type FormFields } from '../request/form.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import { utf8Of } from '../request/text.ts'
import { decodeWebhookBody, packed, type WebhookBody, type WebhookLimits } from './body.ts'

interface RequestOptions {
  /** Parameters by name, decoded. */
  readonly path: ReadonlyMap<string, string>
  /** Milliseconds. */
  readonly timeout: number
  /** In lower case: the header that has a secret itself, which is hidden from here on; null: there is none. */
  readonly proofHeader: string | null
}

/** `$request` as services see it, including secrets. @throws FluxError for a query or a body that cannot be read */
export function readWebhookRequest(
  c: Context<Env>,
  rawBody: Buffer,
  options: RequestOptions,
  limits: WebhookLimits,
): JsonObject {
  const [, query = ''] = targetOf(c).split(/\?(.*)/s)
  // Node gives each byte of the target as a character.
  const parameters = formFieldsOf(utf8Of(Buffer.from(query, 'latin1')), limits.maxParts, 'malformed')
  requireUncompressed(c)
  return requestOf(c, options, decodeWebhookBody(rawBody, headerOf(c, 'content-type'), limits), parameters)
}

/** The request with its body as base64 and without the query's parameters, for one that can't be read. */
export const unreadRequest = (c: Context<Env>, rawBody: Buffer, options: RequestOptions): JsonObject => ({
  ...requestOf(c, options, packed(rawBody)),
  [UNREADABLE]: true,
})

function requestOf(
  c: Context<Env>,
  { path, timeout, proofHeader }: RequestOptions,
  { body, encoded }: WebhookBody,
  query: FormFields<string> = new Map(),
): JsonObject {
  const parameters = new Map(query)
  for (const [name, value] of path) parameters.set(name, [value])
  const headers = headerPairsOf(c).map(([name, value]) => ({
    name,
    value: name.toLowerCase() === proofHeader ? REDACTED : value,
  }))
  return {
    method: c.req.method,
    uri: targetOf(c),
    contentType: headers.find(({ name }) => name.toLowerCase() === 'content-type')?.value ?? null,
    headers,
    cookies: headers.flatMap(({ name, value }) => (name.toLowerCase() === 'cookie' ? cookiesIn(value) : [])),
    parameters: fieldsToJson(parameters),
    body,
    config: { timeout: timeout / 1000 },
    encoded,
  }
}

/**
 * Path and query as they were sent. The origin, which a client may send before them as to a proxy, and a fragment are
 * removed.
 */
export function targetOf(c: Context<Env>): string {
  const target = c.env === undefined ? c.req.url : (c.env.incoming.url ?? '')
  return target.replace(/^[A-Za-z][\w+.-]*:\/\/[^/?#]*/, '').split('#', 1)[0] ?? ''
}

/**
 * The headers as they were sent, with order, case and repetitions. In tests without a socket, names are in lower case.
 */
export function headerPairsOf(c: Context<Env>): readonly HeaderPair[] {
  if (c.env === undefined) return [...c.req.raw.headers]
  const { rawHeaders } = c.env.incoming
  const pairs: HeaderPair[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''])
  return pairs
}

/**
 * The cookies of a header (RFC 6265, 4.2.1). Quotes around a value are removed, and escapes are decoded, as answers write
 * them. A value with an invalid escape stays as it is.
 */
const cookiesIn = (header: string): Json[] =>
  header.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=')
    if (equals === -1) return []
    const text = pair.slice(equals + 1).trim()
    return [{ name: pair.slice(0, equals).trim(), value: cookieValue(text.replace(/^"(.*)"$/, '$1')) }]
  })

function cookieValue(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
