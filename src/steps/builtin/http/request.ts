// steps: `Http.request`. Every HTTP status is a result. Other failures are errors, whose messages contain only what a
// workflow may know.
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { getOwn, type JsonObject } from '../../../model/json/value.ts'
import type { Flux } from '../../../ports/steps.ts'
import { ForbiddenAddress, isPublic, publicLookup } from './addresses.ts'
import { httpAnswerOf, type HttpAnswer, type HttpResponse } from './answer.ts'
import { httpCall, HttpError, urlOf, type HttpCall } from './call.ts'

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const MAX_REDIRECTS = 5
/** The only headers that are sent to another origin after a redirect. Any other header may contain a secret. */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-language',
  'content-type',
  'traceparent',
  'user-agent',
])

/** Sends one request, and follows no redirect. */
export type Exchange = (call: HttpCall, allowPrivate: boolean, signal: AbortSignal) => Promise<HttpResponse>

export interface HttpOptions {
  /** Whether requests may connect to addresses that are not public. */
  readonly allowPrivate: boolean
  /** In place of the network. */
  readonly exchange?: Exchange
  /** Epoch milliseconds, in place of the system's: of signatures, and of `Retry-After`. */
  readonly now?: (() => number) | undefined
  /** In place of `AbortSignal.timeout`. */
  readonly lateAfter?: (milliseconds: number) => AbortSignal
}

/**
 * Args: `method` (GET), `url`, `headers` and `query` (objects; headers also as a list of `{ name, value }`), `body`
 * (text, or data that becomes JSON), `encoded` (false; true: `body` is base64 of the bytes to send), `timeout` (30
 * seconds), `followRedirects` (true; at most 5), `maxSize` (1 MiB, in bytes).
 *
 * @param options `readsBody`: whether the answer has the body; without it, status and headers alone decide
 * @throws HttpError, TimeoutError, ForbiddenAddress; the abort reason of the step
 */
export const httpRequest =
  ({
    allowPrivate,
    exchange = send,
    lateAfter = (milliseconds) => AbortSignal.timeout(milliseconds),
    readsBody = true,
  }: HttpOptions & { readonly readsBody?: boolean }) =>
  async (args: JsonObject, flux: Pick<Flux, 'signal' | 'traceparent'>): Promise<HttpAnswer> => {
    const call = httpCall(args, flux.traceparent)
    const late = lateAfter(Math.ceil(call.timeout))
    const signal = AbortSignal.any([flux.signal, late])
    let request = call
    try {
      signal.throwIfAborted()
      for (let redirects = 0; ; redirects += 1) {
        const response = await exchange(request, allowPrivate, signal)
        try {
          const { statusCode = 0, headers } = response
          if (!call.followRedirects || !REDIRECTS.has(statusCode) || headers.location === undefined)
            return await httpAnswerOf(response, request.url, readsBody ? call.maxSize : null)
          if (redirects === MAX_REDIRECTS) throw new HttpError(`more than ${MAX_REDIRECTS} redirects`)
          request = redirected(request, urlOf(headers.location, request.url), statusCode)
        } finally {
          response.destroy()
        }
      }
    } catch (error) {
      flux.signal.throwIfAborted()
      if (late.aborted) throw new DOMException(`no answer within ${call.timeout / 1000} s`, 'TimeoutError')
      throw error instanceof HttpError || error instanceof ForbiddenAddress
        ? error
        : new HttpError(reasonOf(error, request.url))
    }
  }

/**
 * The request that follows a redirect, according to RFC 9110, 15.4, and to the Fetch standard where browsers deviate.
 */
function redirected(call: HttpCall, target: URL, status: number): HttpCall {
  const { method, url } = call
  const isGet =
    status === 303 ? method !== 'HEAD' && method !== 'GET' : (status === 301 || status === 302) && method === 'POST'
  const left = [...call.headers].filter(
    ([name]) => (target.origin === url.origin || HARMLESS.has(name)) && !(isGet && name.startsWith('content-')),
  )
  return { ...call, url: target, headers: new Headers(left), ...(isGet && { method: 'GET', body: null }) }
}

function send({ method, url, headers, body }: HttpCall, allowPrivate: boolean, signal: AbortSignal) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // An address as host is not looked up, so it is checked here. `URL` has normalized unusual notations.
    if (!allowPrivate && isIP(host) !== 0 && !isPublic(host)) throw new ForbiddenAddress(host)
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    const sent = request(url, {
      method,
      signal,
      // A new connection for each request. The server may close a kept-alive connection while a request is sent, and
      // then it is unknown whether the request was processed.
      agent: false,
      headers: {
        ...Object.fromEntries(headers),
        ...(body !== null && { 'content-length': Buffer.byteLength(body) }),
      },
      ...(!allowPrivate && { lookup: publicLookup }),
    })
    sent.on('response', resolve).on('error', reject)
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new HttpError('the answer switches to another protocol'))
    })
    sent.end(body ?? undefined)
  })
}

const UNTRUSTED = 'its certificate is signed by no authority that this server trusts'
const REASONS: { readonly [code: string]: string } = {
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: "its name can't be looked up now",
  ECONNREFUSED: 'it refuses the connection',
  ECONNRESET: 'it broke off',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is that of another name',
  ETIMEDOUT: "it doesn't answer",
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  EPIPE: 'it broke off',
}

function reasonOf(error: unknown, { host }: URL) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return `can't get an answer from "${host}": ${getOwn(REASONS, code) ?? code}`
}
