// client: sends requests, and sends them again where that does nothing twice: after a network error, 429 and 503, under
// the same idempotency key and never before `Retry-After`. The time of a call is that of all its attempts.
import type { WaitOptions } from './calls.ts'
import { limitedBy, untilLater, type Limits } from './limits.ts'
import { ConnectionError, didNothing, isInProgress, Problem, problemIn } from './problem.ts'
import type { Route } from '../api/routes.ts'
import { requestTarget } from './url.ts'

/** What a fetch must be for the client. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

export interface Transport {
  /** Without a slash at the end. */
  readonly base: string
  readonly token: string | undefined
  readonly fetch: FetchFunction
  readonly retries: number
  /** Milliseconds of a call with all its attempts. */
  readonly timeout: number | undefined
}

/**
 * Makes a call. `idempotencyKey`, `version` and `respondAsync` of the request travel as headers.
 * @throws Problem when the server refuses the request; ConnectionError when there is no answer; the reason of the signal
 * when that is aborted; TimeoutError when the time is up
 */
export async function sendRequest<Value>(
  transport: Transport,
  route: Route,
  request?: object,
  { wait, signal: given, timeout = transport.timeout }: WaitOptions = {},
): Promise<{ readonly status: number; readonly value: Value; readonly headers: Headers }> {
  const { base, fetch, retries } = transport
  // The server passes over a preference that it does not understand.
  if (wait !== undefined && !(Number.isSafeInteger(wait) && wait >= 0))
    throw new TypeError('wait must be a whole number of seconds')
  const { idempotencyKey, version, respondAsync, ...fields }: { [name: string]: unknown } = { ...request }
  if (typeof (idempotencyKey ?? '') !== 'string') throw new TypeError('idempotencyKey must be a text')
  const prefers = [respondAsync === true && 'respond-async', wait !== undefined && `wait=${wait}`].filter(Boolean)
  // An event that has an id has a key already. Without tries to come, the server need not remember the call.
  const eventId = route.key && typeof fields['eventId'] === 'string' ? fields['eventId'] : undefined
  const made = route.key && eventId === undefined && retries > 0 ? newKey() : undefined
  const sentKey = typeof idempotencyKey === 'string' ? idempotencyKey : made
  const key = sentKey ?? eventId ?? null
  const { path, body } = requestTarget(route, fields)
  const headers = clientHeaders(transport, {
    accept: 'application/json',
    ...(body !== null && { 'content-type': 'application/json' }),
    ...(sentKey !== undefined && { 'idempotency-key': sentKey }),
    ...(version !== undefined && { 'if-match': `"${version}"` }),
    ...(prefers.length > 0 && { prefer: prefers.join(', ') }),
  })
  const limits = limitedBy(given, timeout)
  const { signal } = limits
  const attempt = async () => {
    try {
      const response = await fetch(base + path, { method: route.method, headers, body, signal, redirect: 'manual' })
      if (!response.ok) return await problemIn(response, key)
      // What is no JSON was cut off, or is not from the server.
      const value: Value = JSON.parse(await response.text())
      return { status: response.status, value, headers: response.headers }
    } catch (cause) {
      return new ConnectionError(base, { cause, idempotencyKey: key })
    }
  }
  // To make it twice does what making it once does.
  const isRepeatable = route.method !== 'POST' || key !== null
  /** Whether the server may still be at an earlier attempt of this call. */
  let mayBeUnderWay = false
  try {
    for (let failures = 0; ; failures += 1) {
      signal.throwIfAborted()
      const outcome = await attempt()
      if (!(outcome instanceof Error)) return outcome
      const isRepeated = isRepeatable ? mayBeUnderWay || !isInProgress(outcome) : didNothing(outcome)
      await nextTry(outcome, failures, isRepeated ? retries : 0, limits)
      mayBeUnderWay ||= !didNothing(outcome)
    }
  } finally {
    limits.clear()
  }
}

/**
 * Resolves when what has failed may be tried again.
 * @throws the failure, when another try is of no use, or there is no time for one; the reason of the signal
 */
export async function nextTry(
  failure: Problem | ConnectionError,
  failures: number,
  retries: number,
  { signal, left }: Limits,
): Promise<void> {
  signal.throwIfAborted()
  // Longer each time, by chance, so that not all clients come at once.
  const most = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS)
  const least = failure instanceof Problem ? (failure.retryAfter ?? 0) * 1000 : 0
  const delay = least + most * (0.5 + Math.random() / 2)
  if (!failure.retryable || failures >= retries || delay > left()) throw failure
  await untilLater(delay, signal)
}

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5000

/** @throws TypeError for a value that no header can have */
export const clientHeaders = ({ token }: Transport, headers: { readonly [name: string]: string }): Headers =>
  new Headers({ ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) })

const KEY_BYTES = 16

/** A new idempotency key. Pages without TLS have no `randomUUID`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
