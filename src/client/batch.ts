// client: many events or starts in requests of a line each, answered by a line each. Where requests can be streamed it is
// one request; else it is one for each few hundred lines. After a break, the lines that have no answer are sent again,
// under their keys.
import type { ExecuteAnswer } from '../api/commands.ts'
import type { EventAnswer } from '../api/events.ts'
import type { LastLine, RefusedLine } from '../api/streams.ts'
import type { CallRequest } from './calls.ts'
import { limitedBy, untilLater } from './limits.ts'
import { linesOf } from './lines.ts'
import { OpenLines } from './open-lines.ts'
import { ConnectionError, isInProgress, Problem, problemFields, problemIn } from './problem.ts'
import type { Route } from '../api/routes.ts'
import { OTHER_ROUTES } from './routes.ts'
import { clientHeaders, delayAfter, newKey, type Transport } from './transport.ts'
import { bodyText, requestTarget, type RequestFields } from './url.ts'

export interface LinesOptions {
  readonly signal?: AbortSignal | undefined
}

/** What a line asks for. `eventId` is its key: the client makes one where there is none. */
export type EventItem = Omit<CallRequest<'sendEvent'>, 'idempotencyKey' | 'respondAsync'>
export type StartItem = Omit<CallRequest<'execute'>, 'package'>

interface Replayed {
  readonly n: number
  /** There where the line repeats an earlier request under its key. */
  readonly replayed?: true
}

/** The answer to an event that is for many: it is stored, and goes to all that it is for. */
export interface AcceptedLine extends Replayed {
  readonly status: 202
  readonly eventId: string
}

export type EventLine = (Replayed & { readonly status: 200 } & Omit<EventAnswer, 'message' | 'context'>) | AcceptedLine
export type StartLine = Replayed & { readonly status: 200 } & Omit<ExecuteAnswer, 'message' | 'context'>

/** Sends events, a line each. */
export function sendLines(
  transport: Transport,
  events: Iterable<EventItem> | AsyncIterable<EventItem>,
  { signal }: LinesOptions,
): AsyncGenerator<EventLine | RefusedLine | LastLine, void, undefined> {
  const open = new OpenLines(events, (item) => keyed(transport, item, 'eventId'))
  return exchange<EventLine>({ transport, route: OTHER_ROUTES.sendEvents, fields: {}, open, signal })
}

/** Starts contexts of services of a package, a line each. */
export function startLines(
  transport: Transport,
  starts: Iterable<StartItem> | AsyncIterable<StartItem>,
  { signal, package: owner }: LinesOptions & { readonly package: string },
): AsyncGenerator<StartLine | RefusedLine | LastLine, void, undefined> {
  const open = new OpenLines(starts, (item) => keyed(transport, item, 'idempotencyKey'))
  const fields = { package: owner }
  return exchange<StartLine>({ transport, route: OTHER_ROUTES.executeMany, fields, open, signal })
}

/** Without tries to come, the server need not remember the line. */
function keyed({ retries }: Transport, item: object, name: 'eventId' | 'idempotencyKey'): string {
  const { [name]: given, ...fields }: { [field: string]: unknown } = { ...item }
  return bodyText({ ...fields, [name]: given ?? (retries > 0 ? newKey() : undefined) })
}

interface Exchange {
  readonly transport: Transport
  readonly route: Route
  readonly fields: RequestFields
  readonly open: Pick<OpenLines<unknown>, keyof OpenLines<unknown>>
  readonly signal: AbortSignal | undefined
}

/** What has been answered, over all requests. */
interface Total {
  lines: number
  ok: number
  failed: number
}

/** One request has ended. `last`: as the server said; null: there is nothing to send. */
interface Ended {
  readonly last: LastLine | null
}

async function* exchange<Line extends { readonly n: number; readonly status: number }>(
  parts: Exchange,
): AsyncGenerator<Line | RefusedLine | LastLine, void, undefined> {
  const { transport, open, signal } = parts
  const total: Total = { lines: 0, ok: 0, failed: 0 }
  const mode = { streams: canStream() }
  const limits = limitedBy(signal, undefined)
  try {
    for (let failures = 0; ; failures += 1) {
      limits.signal.throwIfAborted()
      const before = total.lines
      const outcome = yield* request<Line>({ ...parts, signal: limits.signal }, { total, mode })
      limits.signal.throwIfAborted()
      const failure = outcome instanceof Error ? outcome : brokenOff(outcome, transport, total.lines > before)
      if (total.lines > before) failures = 0
      if (failure === null) {
        failures = -1
        if (!open.isDone) continue
        if (open.fault) throw open.fault.error
        yield { done: true, ...total }
        return
      }
      const delay = delayAfter(failures, failure)
      if (!failure.retryable || failures >= transport.retries || delay > limits.left()) {
        if (!(outcome instanceof Error) && outcome.last) yield { ...outcome.last, ...total }
        throw failure
      }
      await untilLater(delay, limits.signal)
    }
  } finally {
    limits.clear()
    await open.close()
  }
}

/** Why the server has broken off a request; null: it has not. */
function brokenOff({ last }: Ended, { base }: Transport, isAnswered: boolean): Problem | ConnectionError | null {
  if (last === null || (last.done && isAnswered)) return null
  if (last.done) return new ConnectionError(base, { cause: new Error('the lines have no answers') })
  // An empty line was due: this process, or the connection, has stood still for a while.
  if (last.problem?.type === TOO_LATE) return new ConnectionError(base, { cause: new Error(last.problem.detail) })
  return new Problem(last.problem ?? { status: 503, detail: 'the server has broken off the request' })
}

const TOO_LATE = 'urn:actorflux:problem:request-timeout'

interface Progress {
  readonly total: Total
  /** Whether requests are streamed, as far as is known. */
  readonly mode: { streams: boolean }
}

/** Milliseconds for which a request without streaming waits for more lines. */
const GATHER_MS = 20
/** Milliseconds for which an answer is waited for before the request is complete. */
const PATIENCE_MS = 2000
/** Milliseconds without a line after which an empty one is sent: the server does not wait for ever. */
const IDLE_MS = 10_000

async function* request<Line extends { readonly n: number; readonly status: number }>(
  { transport, route, fields, open, signal }: Exchange & { readonly signal: AbortSignal },
  { total, mode }: Progress,
): AsyncGenerator<Line | RefusedLine, Ended | Problem | ConnectionError, undefined> {
  const { path } = requestTarget(route, fields)
  const over = new AbortController()
  const forward = () => over.abort(signal.reason)
  signal.addEventListener('abort', forward)
  const progress = { isAnswered: false }
  open.rewind()
  try {
    const first = await open.take({ unwanted: over.signal, gather: mode.streams ? 0 : GATHER_MS })
    if (first === null) return { last: null }
    const headers = clientHeaders(transport, { accept: LINES, 'content-type': LINES })
    const body = mode.streams ? streamedBody(open, { first, unwanted: over.signal, mode, progress }) : first
    // Not every platform's types know `duplex`.
    const streaming: object = mode.streams ? { duplex: 'half' } : {}
    const { method } = route
    const init: RequestInit = { method, headers, body, signal: over.signal, redirect: 'manual', ...streaming }
    const response = await transport.fetch(transport.base + path, init)
    progress.isAnswered = true
    if (!response.ok || !response.body) return await problemIn(response)
    for await (const text of linesOf(response.body)) {
      const line: Line | RefusedLine | LastLine = JSON.parse(text)
      if ('done' in line) return { last: line }
      const underWay = open.isRepeated ? problemOfLine(line) : null
      if (underWay && isInProgress(underWay)) return underWay
      if (!open.answered()) throw new Error('it has more lines than were sent')
      const n = total.lines
      total.lines += 1
      if (line.status < FAILED) total.ok += 1
      else total.failed += 1
      yield { ...line, n }
    }
    throw new Error('the answer was cut off')
  } catch (cause) {
    return new ConnectionError(transport.base, { cause })
  } finally {
    signal.removeEventListener('abort', forward)
    over.abort()
  }
}

/** The server may still be at what it was sent before the connection broke. */
function problemOfLine(line: { readonly status: number } | RefusedLine): Problem | null {
  return 'problem' in line
    ? new Problem({ ...problemFields(line.problem), status: line.status, retryAfter: line.retryAfter })
    : null
}

const LINES = 'application/x-ndjson'
const FAILED = 400

interface Streaming {
  readonly first: string
  readonly unwanted: AbortSignal
  readonly mode: { streams: boolean }
  /** Whether the server has begun to answer. */
  readonly progress: { readonly isAnswered: boolean }
}

/** A body that is read as fast as its lines are answered. */
function streamedBody(
  open: Exchange['open'],
  { first, unwanted, mode, progress }: Streaming,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let isFirst = true
  return new ReadableStream(
    {
      async pull(controller) {
        const patience = () => (progress.isAnswered ? undefined : PATIENCE_MS)
        const text = isFirst ? first : await open.take({ unwanted, gather: 0, patience, idle: IDLE_MS })
        isFirst = false
        if (text !== null) return controller.enqueue(encoder.encode(text))
        // Something on the way answers only what is complete: from now on, requests are.
        if (!progress.isAnswered && !unwanted.aborted && !open.isOver) mode.streams = false
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Only of Node it is known that it gives the answer while the request is being sent. */
function canStream(): boolean {
  const { versions }: { versions?: { readonly [name: string]: string | undefined } } =
    Reflect.get(globalThis, 'process') ?? {}
  return versions?.['node'] !== undefined && versions['bun'] === undefined
}
