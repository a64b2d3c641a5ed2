// http: reads the request. Where there is a request of Node, it is used directly instead of through the web API, which
// halves the cost of a small request.
//
// - A small body costs one promise (`http/request/incoming.ts`): it is decoded where its last byte arrives. A test
//   counts the promises of an event.
import { Readable } from 'node:stream'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import type { Quota } from '../../model/caller.ts'
import { malformed, tooLarge, unavailable } from '../../model/failure.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { ReadScope } from '../../model/read-scope.ts'
import { pauseFor } from './turns.ts'

/**
 * In tests without a socket, there is no `incoming`. `quota`: of a caller with a rate. `replayed`: an earlier request
 * under the same `Idempotency-Key` had the same answer. `shownPath`: what logs show in place of a path that has a
 * secret.
 */
export type Env = { Bindings: HttpBindings; Variables: { quota?: Quota; replayed?: true; shownPath?: string } }

/** Whether Node's own request is at hand. */
export const socketed = (c: Context<Env>): boolean => c.env !== undefined

/** Names of headers, in lower case. */
type HeaderName =
  | 'accept'
  | 'authorization'
  | 'ce-id'
  | 'ce-source'
  | 'ce-specversion'
  | 'ce-type'
  | 'content-encoding'
  | 'content-length'
  | 'content-type'
  | 'idempotency-key'
  | 'if-match'
  | 'last-event-id'
  | 'origin'
  | 'prefer'
  | 'sec-fetch-site'

/** Node bounds all headers of a request together: 16 KiB, 431 beyond. */
export function headerOf(c: Context<Env>, name: HeaderName): string | undefined {
  if (!socketed(c)) return c.req.raw.headers.get(name) ?? undefined
  const value = c.env.incoming.headers[name]
  return typeof value === 'object' ? value.join(', ') : value
}

/**
 * The hosts, with ports, to which the request is addressed: that of the Host header, and that of the target if it is a
 * whole URL (RFC 9112, 3.2.2).
 */
export function requestHosts(c: Context<Env>): readonly string[] {
  if (!socketed(c)) return [c.req.raw.headers.get('host') ?? new URL(c.req.url).host]
  const {
    headers: { host = '' },
    url = '',
  } = c.env.incoming
  return url.startsWith('/') ? [host] : [host, new URL(c.req.url).host]
}

/** @throws FluxError `malformed` for several headers: Node gives only the first of them */
export function authorizationOf(c: Context<Env>): string | undefined {
  const header = headerOf(c, 'authorization')
  if (header === undefined || !socketed(c)) return header
  if (isRepeated(c.env.incoming.rawHeaders, 'authorization')) throw malformed('there are several Authorization headers')
  return header
}

/** Whether there are several headers of that name, in lower case. `rawHeaders`: names and values in turn. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1
  return count > 1
}

/** Visible ASCII. One pair of quotes around it, which the draft asks for, is removed. */
const KEY = /^[!-~]{1,255}$/

/**
 * The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header); undefined: none was sent.
 * @throws FluxError `malformed`
 */
export function idempotencyKeyOf(c: Context<Env>): string | undefined {
  const header = headerOf(c, 'idempotency-key')
  if (header === undefined) return undefined
  const isQuoted = header.length > 1 && header.startsWith('"') && header.endsWith('"')
  const key = isQuoted ? header.slice(1, -1) : header
  if (KEY.test(key)) return key
  throw malformed('Idempotency-Key must be 1 to 255 visible ASCII characters')
}

/**
 * The version in the header `If-Match` (RFC 9110, 13.1.1): `*`, or one entity tag, which a proxy may have made weak;
 * undefined: none was sent.
 * @throws FluxError `malformed`
 */
export function ifMatchOf(c: Context<Env>): number | '*' | undefined {
  const header = headerOf(c, 'if-match')
  if (header === undefined || header === '*') return header
  const [, version] = /^(?:W\/)?"([1-9]\d{0,14})"$/.exec(header) ?? []
  if (version === undefined) throw malformed('If-Match must be the ETag of a context')
  return Number(version)
}

/** The request. @throws FluxError `malformed` where `If-Match` was sent with one that is for no single context */
export function requireSingle<R extends { readonly contextId?: unknown; readonly key?: unknown }>(
  c: Context<Env>,
  request: R,
): R {
  if (request.contextId !== undefined || request.key !== undefined || headerOf(c, 'if-match') === undefined)
    return request
  throw malformed('If-Match goes with calls to a single context')
}

/** Aborted when the client hangs up; undefined where there is no socket. */
export function hangUpSignal(c: Context<Env>): AbortSignal | undefined {
  const outgoing = c.env?.outgoing
  if (outgoing === undefined) return undefined
  const controller = new AbortController()
  const abort = () => controller.abort(unavailable('the client has hung up'))
  if (outgoing.destroyed) abort()
  else
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) abort()
    })
  return controller.signal
}

/** The scope of a request that changes nothing: it ends with its client. */
export const readScopeOf = (c: Context<Env>): ReadScope => new ReadScope(hangUpSignal(c))

export interface ReadOptions {
  /** Most bytes of a body. They are counted as they arrive, whatever Content-Length says. */
  readonly limit: number
  /**
   * Called with the bytes of memory that the request takes in total: those that arrived, and later what is made of
   * them.
   * @throws FluxError `overloaded`
   */
  readonly charge: (bytes: number) => void
  /**
   * Whether a length that is announced is charged before the body comes (if absent, it is); else only what has come, so
   * that a stranger can't take memory by announcing.
   */
  readonly trustsLength?: boolean
}

/** Copies of the body besides the parsed data: bytes, text, the text for the store, and base64 for functions. */
const COPIES = 6
/** Copies of the parsed data: checking it makes one. */
const PARSED_COPIES = 2

/** Bytes of memory that a body takes until it is dealt with, about. */
export const bodyMemoryOf = (body: Buffer): number => body.length * COPIES + parsedBytes(body) * PARSED_COPIES

/**
 * Reads the whole body and resolves with what is made of it. Costs one promise if the body is small.
 * @throws FluxError `tooLarge`, `malformed` when the body ends early, `overloaded` when the budget is used up
 */
export function readBytes<T>(
  c: Context<Env>,
  { limit, charge, trustsLength = true }: ReadOptions,
  use: (bytes: Buffer) => T | Promise<T>,
): Promise<T> {
  const length = Number(headerOf(c, 'content-length') ?? 0)
  if (length > limit) throw bodyTooLarge(limit)
  const announced = trustsLength ? length : 0
  if (announced > 0) charge(announced)
  const grow = (size: number) => {
    if (size > limit) throw bodyTooLarge(limit)
    if (size > announced) charge(size)
  }
  const whole = (bytes: Buffer): T | Promise<T> => {
    if (bytes.length > 0) charge(bodyMemoryOf(bytes))
    const pause = pauseFor(bytes.length)
    return pause ? pause.then(() => use(bytes)) : use(bytes)
  }
  return new Promise((resolve, reject) => {
    const body = bodyOf(c)
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      try {
        grow(size)
      } catch (error) {
        // The rest is not read. Destroying the request would close the connection before the refusal is sent.
        body.off('data', take).pause()
        reject(error)
      }
    }
    const end = () => {
      let made
      try {
        made = whole(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size))
      } catch (error) {
        return reject(error)
      }
      resolve(made)
    }
    // A request without a length has no body (RFC 9112, 6.3), so there is no end to wait for.
    if (length === 0 && socketed(c) && c.env.incoming.headers['transfer-encoding'] === undefined) return end()
    if (body.destroyed) return reject(brokenOff())
    body
      .on('data', take)
      .on('end', end)
      .on('error', () => reject(brokenOff()))
  })
}

/** The body of the request, as it comes. */
export const bodyOf = (c: Context<Env>): Readable =>
  socketed(c) ? c.env.incoming : Readable.from(c.req.raw.body ?? [], { objectMode: false })

const bodyTooLarge = (limit: number) => tooLarge(`the body is larger than ${limit} bytes`)
const brokenOff = () => malformed('the body ended early')
