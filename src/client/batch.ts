// client: many events or starts, a line each, in requests of some hundred lines. Each line has its answer.
//
// 1. Lines are taken from the source until a request is full, or the source has none for a moment. While they have no
//    answer, no others are sent: the source is read as fast as the server answers.
// 2. After a break, the lines without an answer are sent again, under their keys.
// 3. A line that is sent again may meet the attempt before (`idempotency-in-progress`). It and all behind it are then
//    sent once more.
import type { ExecuteAnswer } from '../api/commands.ts'
import type { EventAnswer } from '../api/events.ts'
import type { Route } from '../api/routes.ts'
import type { LastLine, RefusedLine } from '../api/streams.ts'
import type { CallRequest } from './calls.ts'
import { limitedBy, onAbort, untilLater } from './limits.ts'
import { linesOf } from './lines.ts'
import { ConnectionError, isInProgress, Problem, problemFields, problemIn } from './problem.ts'
import { clientHeaders, newKey, nextTry, type Transport } from './transport.ts'
import { bodyText, requestTarget, type RequestFields } from './url.ts'

export interface LinesOptions {
  readonly signal?: AbortSignal | undefined
}

export type Items<Item> = Iterable<Item> | AsyncIterable<Item>

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

interface Exchange extends LinesOptions {
  readonly route: Route
  readonly fields: RequestFields
  readonly items: Items<object>
  /** The field that has the key of a line. */
  readonly key: string
}

interface AnyLine {
  readonly n: number
  readonly status: number
}

/** Sends the items, a line each, and yields the answers. */
export async function* exchangeLines<Line extends AnyLine>(
  transport: Transport,
  { route, fields, items, key, signal: given }: Exchange,
): AsyncGenerator<Line | RefusedLine | LastLine, void, undefined> {
  const { path } = requestTarget(route, fields)
  // Without tries to come, the server need not remember the line.
  const keyFor = () => (transport.retries > 0 ? newKey() : undefined)
  const lineOf = (item: { readonly [field: string]: unknown }) => bodyText({ ...item, [key]: item[key] ?? keyFor() })
  const total: Total = { lines: 0, ok: 0, failed: 0 }
  const limits = limitedBy(given)
  const { signal } = limits
  try {
    for await (const lines of gathered(items, (item) => lineOf({ ...item }), signal)) {
      let failures = 0
      for (let isRepeated = false; lines.length > 0; isRepeated = true) {
        signal.throwIfAborted()
        const before = total.lines
        const ended = yield* request<Line>(transport, { path, lines, isRepeated, total, signal })
        const isAnswered = total.lines > before
        if (isAnswered) failures = 0
        const failure = ended instanceof Error ? ended : failureOf(ended, transport, isAnswered)
        if (failure === null) continue
        try {
          await nextTry(failure, failures, transport.retries, limits)
        } catch (error) {
          if (error === failure && !(ended instanceof Error)) yield { ...ended, ...total }
          throw error
        }
        failures += 1
      }
    }
    yield { done: true, ...total }
  } finally {
    limits.clear()
  }
}

/** Bounds of a request. */
const MAX_LINES = 512
const MAX_CHARACTERS = 262_144
/** Milliseconds for which a request waits for more lines. */
const GATHER_MS = 20

/** The lines of each request. @throws the reason of the signal; what the source throws, behind the lines before it */
async function* gathered<Item>(items: Items<Item>, lineOf: (item: Item) => string, signal: AbortSignal) {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  let arriving: Promise<IteratorResult<Item>> | null = null
  let isOver = false
  try {
    while (!isOver) {
      const lines: string[] = []
      let late: Promise<void> | null = null
      try {
        for (let characters = 0; lines.length < MAX_LINES && characters < MAX_CHARACTERS;) {
          arriving ??= Promise.resolve(iterator.next())
          const next: IteratorResult<Item> | void = await (late
            ? Promise.race([arriving, late])
            : orAborted(arriving, signal))
          if (next) arriving = null
          isOver = next?.done === true
          if (!next || next.done) break
          const line = lineOf(next.value)
          lines.push(line)
          characters += line.length
          late ??= untilLater(GATHER_MS, signal).catch(() => undefined)
        }
      } catch (error) {
        if (lines.length > 0) yield lines
        throw error
      }
      if (lines.length > 0) yield lines
    }
  } finally {
    const ended = isOver ? null : Promise.resolve(iterator.return?.()).catch(() => undefined)
    // A source that is asked for its next line ends when it has that one.
    if (arriving === null) await ended
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason))
    void promise.then(resolve, reject).finally(forget)
  })
}

/** Why the server has broken off a request; null: it has not. */
function failureOf({ done, problem }: LastLine, { base }: Transport, isAnswered: boolean) {
  if (done) return isAnswered ? null : new ConnectionError(base, { cause: new Error('the lines have no answers') })
  // The server waited for the lines: this process, or the connection, has stood still for a while.
  if (problem?.type === TOO_LATE) return new ConnectionError(base, { cause: new Error(problem.detail) })
  return new Problem(problem ?? { status: 503, detail: 'the server has broken off the request' })
}

const TOO_LATE = 'urn:actorflux:problem:request-timeout'
const LINES = 'application/x-ndjson'
const FAILED = 400

interface Total {
  lines: number
  ok: number
  failed: number
}

interface Request {
  readonly path: string
  /** Those without an answer. */
  readonly lines: string[]
  readonly isRepeated: boolean
  /** What has been answered, over all requests. */
  readonly total: Total
  readonly signal: AbortSignal
}

/** Yields the answers; returns the last line of the answer, or why there is none. */
async function* request<Line extends AnyLine>(
  transport: Transport,
  { path, lines, isRepeated, total, signal }: Request,
): AsyncGenerator<Line | RefusedLine, LastLine | Problem | ConnectionError, undefined> {
  try {
    const headers = clientHeaders(transport, { accept: LINES, 'content-type': LINES })
    const body = lines.map((line) => `${line}\n`).join('')
    const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' }
    const response = await transport.fetch(transport.base + path, init)
    if (!response.ok || !response.body) return await problemIn(response)
    for await (const text of linesOf(response.body)) {
      const line: Line | RefusedLine | LastLine = JSON.parse(text)
      if ('done' in line) return line
      if (isRepeated && 'problem' in line) {
        const { status, retryAfter } = line
        const refusal = new Problem({ ...problemFields(line.problem), status, retryAfter })
        // The server may still be at what it was sent before the connection broke.
        if (isInProgress(refusal)) return refusal
      }
      if (lines.shift() === undefined) throw new Error('it has more lines than were sent')
      const n = total.lines
      total.lines += 1
      total[line.status < FAILED ? 'ok' : 'failed'] += 1
      yield { ...line, n }
    }
    throw new Error('the answer was cut off')
  } catch (cause) {
    return new ConnectionError(transport.base, { cause })
  }
}
