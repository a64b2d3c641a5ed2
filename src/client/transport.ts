// client: sends requests, and sends them again where that does nothing twice: after a network error, 429 and 503, under
// the same idempotency key and never before `Retry-After`.
//
// - `transport.ts` is the only place that decides whether a call is made again. A call is repeatable by its key or its
//   method; `Retry-After` is a lower bound; the time of a call is that of all its attempts.
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
export interface Answered<Value> {
  readonly status: number
  readonly value: Value
  readonly headers: Headers
}

/**
 * @throws Problem when the server refuses the request; ConnectionError when there is no answer; the reason of the signal
 * when that is aborted; TimeoutError when the time is up
 */
export async function sendRequest<Value>(transport: Transport, sent: Sent): Promise<Answered<Value>> {
  const { route, fields, prefer } = sent
  const { path, body } = requestTarget(route, fields)
  // An event that has an id has a key already. Without tries to come, the server need not remember the call.
  const eventId = typeof fields['eventId'] === 'string' ? fields['eventId'] : undefined
  const made = route.key && eventId === undefined && transport.retries > 0 ? newKey() : undefined
  const sentKey = sent.idempotencyKey ?? made
  const key = sentKey ?? (route.key ? eventId : undefined)
  const headers = clientHeaders(transport, {
    accept: 'application/json',
    ...(body !== null && { 'content-type': 'application/json' }),
    ...(sentKey !== undefined && { 'idempotency-key': sentKey }),
    ...(prefer !== undefined && { prefer }),
  })
  const limits = limitedBy(sent.signal, sent.timeout ?? transport.timeout)
  const request: RequestInit = { method: route.method, headers, body, signal: limits.signal, redirect: 'manual' }
  try {
    let mayBeUnderWay = false
    for (let attempt = 0; ; attempt += 1) {
      limits.signal.throwIfAborted()
      const outcome = await attempted<Value>(transport, { path, request, key: key ?? null })
      if (!(outcome instanceof Error)) return outcome
      limits.signal.throwIfAborted()
      const isRetried = mayRepeat(outcome, {
        isRepeatable: route.method !== 'POST' || key !== undefined,
        mayBeUnderWay,
      })
      if (!isRetried || attempt >= transport.retries) throw outcome
      mayBeUnderWay ||= !(outcome instanceof Problem) || !didNothing(outcome)
      const delay = delayAfter(attempt, outcome)
      // Rather than the news that the time is up.
      if (delay > limits.left()) throw outcome
      await untilLater(delay, limits.signal)
    }
  } finally {
    limits.clear()
  }
}

interface Attempt {
  readonly path: string
  readonly request: RequestInit
  readonly key: string | null
}

async function attempted<Value>(
  { base, fetch }: Transport,
  { path, request, key }: Attempt,
): Promise<Answered<Value> | Problem | ConnectionError> {
  try {
    const response = await fetch(base + path, request)
    const { ok, status, headers } = response
    if (!ok) return await problemIn(response, key)
    // What is no JSON was cut off, or is not from the server.
    const value: Value = JSON.parse(await response.text())
    return { status, value, headers }
  } catch (cause) {
    return new ConnectionError(base, { cause, idempotencyKey: key })
  }
}

/**
 * Whether the request is made again. `isRepeatable`: to make it twice does what making it once does. `mayBeUnderWay`: an
 * earlier attempt of this call may not have ended, so the server may say that it is still under way.
 */
function mayRepeat(
  outcome: Problem | ConnectionError,
  { isRepeatable, mayBeUnderWay }: { readonly isRepeatable: boolean; readonly mayBeUnderWay: boolean },
) {
  if (!isRepeatable) return outcome instanceof Problem && didNothing(outcome)
  return outcome.retryable && (mayBeUnderWay || !(outcome instanceof Problem) || !isInProgress(outcome))
}

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
