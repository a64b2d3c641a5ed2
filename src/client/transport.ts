// client: sends requests, and sends them again where that does nothing twice: after a network error, 429 and 503, under
// the same idempotency key and never before `Retry-After`. The time of a call is that of all its attempts.
import { limitedBy, untilLater } from './limits.ts'
import { ConnectionError, didNothing, isInProgress, Problem, problemIn } from './problem.ts'
import type { Route } from '../api/routes.ts'
import { requestTarget, type RequestFields } from './url.ts'

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

export interface Sent {
  readonly route: Route
  readonly fields: RequestFields
  readonly signal?: AbortSignal | undefined
  readonly timeout?: number | undefined
  readonly idempotencyKey?: string | undefined
  /** Value of `Prefer`. */
  readonly prefer?: string | undefined
}

/** An answer of success. */
interface Answered<Value> {
  readonly status: number
  readonly value: Value
  readonly headers: Headers
}

/**
 * @throws Problem when the server refuses the request; ConnectionError when there is no answer; the reason of the signal
 * when that is aborted; TimeoutError when the time is up
 */
export async function sendRequest<Value>(
  transport: Transport,
  { route, fields, prefer, ...sent }: Sent,
): Promise<Answered<Value>> {
  const { base, fetch, retries } = transport
  const { path, body } = requestTarget(route, fields)
  // An event that has an id has a key already. Without tries to come, the server need not remember the call.
  const eventId = route.key && typeof fields['eventId'] === 'string' ? fields['eventId'] : undefined
  const made = route.key && eventId === undefined && retries > 0 ? newKey() : undefined
  const sentKey = sent.idempotencyKey ?? made
  const key = sentKey ?? eventId ?? null
  const headers = clientHeaders(transport, {
    accept: 'application/json',
    ...(body !== null && { 'content-type': 'application/json' }),
    ...(sentKey !== undefined && { 'idempotency-key': sentKey }),
    ...(prefer !== undefined && { prefer }),
  })
  const { signal, left, clear } = limitedBy(sent.signal, sent.timeout ?? transport.timeout)
  const init: RequestInit = { method: route.method, headers, body, signal, redirect: 'manual' }
  const attempt = async () => {
    try {
      const response = await fetch(base + path, init)
      if (!response.ok) return await problemIn(response, key)
      // What is no JSON was cut off, or is not from the server.
      const value: Value = JSON.parse(await response.text())
      return { status: response.status, value, headers: response.headers }
    } catch (cause) {
      return new ConnectionError(base, { cause, idempotencyKey: key })
    }
  }
  const isRepeatable = route.method !== 'POST' || key !== null
  try {
    let mayBeUnderWay = false
    for (let attempts = 0; ; attempts += 1) {
      signal.throwIfAborted()
      const outcome = await attempt()
      if (!(outcome instanceof Error)) return outcome
      signal.throwIfAborted()
      const delay = delayAfter(attempts, outcome)
      // Without time for another attempt it fails with the outcome, not with the news that the time is up.
      if (!mayRepeat(outcome, { isRepeatable, mayBeUnderWay }) || attempts >= retries || delay > left()) throw outcome
      mayBeUnderWay ||= !didNothing(outcome)
      await untilLater(delay, signal)
    }
  } finally {
    clear()
  }
}

/**
 * Whether the request is made again. `isRepeatable`: to make it twice does what making it once does. `mayBeUnderWay`: an
 * earlier attempt of this call may not have ended, so the server may say that it is still under way.
 */
const mayRepeat = (
  outcome: Problem | ConnectionError,
  { isRepeatable, mayBeUnderWay }: { readonly isRepeatable: boolean; readonly mayBeUnderWay: boolean },
) => (isRepeatable ? outcome.retryable && (mayBeUnderWay || !isInProgress(outcome)) : didNothing(outcome))

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5000

/** Milliseconds until the next attempt: longer each time, by chance, so that not all clients come at once. */
export function delayAfter(attempt: number, outcome: unknown): number {
  const most = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS)
  const least = outcome instanceof Problem ? (outcome.retryAfter ?? 0) * 1000 : 0
  return least + most * (0.5 + Math.random() / 2)
}

/** @throws TypeError for a value that no header can have */
export const clientHeaders = ({ token }: Transport, headers: { readonly [name: string]: string }): Headers =>
  new Headers({ ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) })

const KEY_BYTES = 16

/** A new idempotency key. Pages without TLS have no `randomUUID`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
