// http: turns a request to a webhook into `$request`, and into the texts that inputs take by their names.
import type { Context } from 'hono'
import { malformed, unsupportedType } from '../../model/failure.ts'
import type { Json, JsonObject } from '../../model/json/value.ts'
import { REDACTED } from '../../model/secret-names.ts'
import { UNREADABLE } from '../../model/webhook.ts'
import type { HeaderPair } from '../../model/webhook-schemes/scheme.ts'
import { fieldsToJson, formFieldsOf, type FormFields } from '../request/form.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import { decodeWebhookBody, packed, type WebhookBody, type WebhookLimits } from './body.ts'

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
  /** In lower case: the header that has a secret itself, which is hidden from here on; null: there is none. */
  readonly proofHeader: string | null
}

/** @throws FluxError for a query or a body that cannot be read */
export function readWebhookRequest(
  c: Context<Env>,
  rawBody: Buffer,
  { path, timeout, proofHeader, limits }: RequestOptions & { readonly limits: WebhookLimits },
): WebhookRequest {
  const query = readQueryOf(targetOf(c), limits.maxParts)
  const inPath = parametersOf(path)
  const headers = shownHeaders(c, proofHeader)
  const coding = headerOf(c, 'content-encoding')?.trim().toLowerCase() ?? ''
  if (coding !== '' && coding !== 'identity') throw unsupportedType('the body must not be compressed')
  const body = decodeWebhookBody(rawBody, headerOf(c, 'content-type'), limits)
  const request = requestOf(c, headers, new Map([...query, ...inPath]), body, timeout)
  const inHeaders = (name: string) => headers.filter(([spelled]) => spelled === name).map(([, value]) => value)
  return { request, rawBody, textsOf: (name) => inPath.get(name) ?? query.get(name) ?? inHeaders(name) }
}

/** The request with its body as base64 and without the query's parameters, for one that can't be read. */
export const unreadRequest = (
  c: Context<Env>,
  rawBody: Buffer,
  { path, timeout, proofHeader }: RequestOptions,
): JsonObject => ({
  ...requestOf(c, shownHeaders(c, proofHeader), parametersOf(path), packed(rawBody), timeout),
  [UNREADABLE]: true,
})

/** `timeout`: milliseconds. */
const requestOf = (
  c: Context<Env>,
  headers: readonly HeaderPair[],
  parameters: FormFields<string>,
  { body, encoded }: WebhookBody,
  timeout: number,
): JsonObject => ({
  method: c.req.method,
  uri: targetOf(c),
  contentType: headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? null,
  headers: headers.map(([name, value]) => ({ name, value })),
  cookies: cookiesOf(headers),
  parameters: fieldsToJson(parameters),
  body,
  config: { timeout: timeout / 1000 },
  encoded,
})

const parametersOf = (path: ReadonlyMap<string, string>): FormFields<string> =>
  new Map([...path].map(([name, value]) => [name, [value]]))

/**
 * Path and query as they were sent. The origin, which a client may send before them as to a proxy, and a fragment are
 * removed.
 */
export function targetOf(c: Context<Env>): string {
  const target = c.env === undefined ? c.req.url : (c.env.incoming.url ?? '')
  return target.replace(/^[A-Za-z][\w+.-]*:\/\/[^/?#]*/, '').split('#', 1)[0] ?? ''
}

function readQueryOf(uri: string, maxParts: number): FormFields<string> {
  const [, query = ''] = /^[^?]*\?(.*)$/s.exec(uri) ?? []
  // Node gives each byte of the target as a character.
  return formFieldsOf(Buffer.from(query, 'latin1'), maxParts, () =>
    malformed(`the query has more than ${maxParts} parameters`),
  )
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

function shownHeaders(c: Context<Env>, proofHeader: string | null): readonly HeaderPair[] {
  const headers = headerPairsOf(c)
  if (proofHeader === null) return headers
  return headers.map((pair) => (pair[0].toLowerCase() === proofHeader ? [pair[0], REDACTED] : pair))
}

/**
 * The cookies (RFC 6265, 4.2.1). Quotes around a value are removed, and escapes are decoded, as answers write them. A
 * value with an invalid escape stays as it is.
 */
function cookiesOf(headers: readonly HeaderPair[]): Json[] {
  return headers
    .filter(([name]) => name.toLowerCase() === 'cookie')
    .flatMap(([, value]) => value.split(';'))
    .flatMap((pair) => {
      const equals = pair.indexOf('=')
      if (equals === -1) return []
      const text = pair.slice(equals + 1).trim()
      return [{ name: pair.slice(0, equals).trim(), value: cookieValue(text.replace(/^"(.*)"$/, '$1')) }]
    })
}

function cookieValue(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
