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
import { OTHER_ROUTES } from './routes.ts'
import { clientHeaders, delayAfter, newKey, type Transport } from './transport.ts'
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

/** Sends events, a line each. */
export function sendLines(transport: Transport, events: Items<EventItem>, { signal }: LinesOptions) {
  const source = new LineSource(events, (item) => keyed(transport, item, 'eventId'))
  return exchange<EventLine>({ transport, route: OTHER_ROUTES.sendEvents, fields: {}, source, signal })
}

/** Starts contexts of services of a package, a line each. */
export function startLines(
  transport: Transport,
  starts: Items<StartItem>,
  { signal, ...fields }: LinesOptions & { readonly package: string },
) {
  const source = new LineSource(starts, (item) => keyed(transport, item, 'idempotencyKey'))
  return exchange<StartLine>({ transport, route: OTHER_ROUTES.executeMany, fields, source, signal })
}

/** Without tries to come, the server need not remember the line. */
function keyed({ retries }: Transport, item: object, name: 'eventId' | 'idempotencyKey') {
  const { [name]: given, ...fields }: { [field: string]: unknown } = { ...item }
  return bodyText({ ...fields, [name]: given ?? (retries > 0 ? newKey() : undefined) })
}

interface Exchange {
  readonly transport: Transport
  readonly route: Route
  readonly fields: RequestFields
  readonly source: Pick<LineSource<unknown>, 'next' | 'fault' | 'close'>
  readonly signal: AbortSignal | undefined
}

interface AnyLine {
  readonly n: number
  readonly status: number
}

async function* exchange<Line extends AnyLine>({
  transport,
  route,
  fields,
  source,
  signal,
}: Exchange): AsyncGenerator<Line | RefusedLine | LastLine, void, undefined> {
  const total = { lines: 0, ok: 0, failed: 0 }
  const limits = limitedBy(signal, undefined)
  let lines: string[] = []
  let isRepeated = false
  let failures = 0
  try {
    const { path } = requestTarget(route, fields)
    for (;;) {
      limits.signal.throwIfAborted()
      if (lines.length === 0) {
        lines = await source.next(limits.signal)
        isRepeated = false
      }
      limits.signal.throwIfAborted()
      if (lines.length === 0) {
        if (source.fault) throw source.fault.error
        yield { done: true, ...total }
        return
      }
      const before = total.lines
      const ended = yield* request<Line>({ transport, path, lines, isRepeated, total, signal: limits.signal })
      limits.signal.throwIfAborted()
      isRepeated = true
      const isAnswered = total.lines > before
      if (isAnswered) failures = 0
      const failure = ended instanceof Error ? ended : failureOf(ended, transport, isAnswered)
      if (failure === null) continue
      const delay = delayAfter(failures, failure)
      if (!failure.retryable || failures >= transport.retries || delay > limits.left()) {
        if (!(ended instanceof Error)) yield { ...ended, ...total }
        throw failure
      }
      failures += 1
      await untilLater(delay, limits.signal)
    }
  } finally {
    limits.clear()
    await source.close()
  }
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

interface Request {
  readonly transport: Transport
  readonly path: string
  /** Those without an answer. */
  readonly lines: string[]
  readonly isRepeated: boolean
  /** What has been answered, over all requests. */
  readonly total: { lines: number; ok: number; failed: number }
  readonly signal: AbortSignal
}

/** Yields the answers; returns the last line of the answer, or why there is none. */
async function* request<Line extends AnyLine>({
  transport,
  path,
  lines,
  isRepeated,
  total,
  signal,
}: Request): AsyncGenerator<Line | RefusedLine, LastLine | Problem | ConnectionError, undefined> {
  try {
    const headers = clientHeaders(transport, { accept: LINES, 'content-type': LINES })
    const body = lines.map((line) => `${line}\n`).join('')
    const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' }
    const response = await transport.fetch(transport.base + path, init)
    if (!response.ok || !response.body) return await problemIn(response)
    for await (const text of linesOf(response.body)) {
      const line: Line | RefusedLine | LastLine = JSON.parse(text)
      if ('done' in line) return line
      const underWay = isRepeated ? problemOfLine(line) : null
      if (underWay && isInProgress(underWay)) return underWay
      if (lines.shift() === undefined) throw new Error('it has more lines than were sent')
      const n = total.lines
      total.lines += 1
      if (line.status < FAILED) total.ok += 1
      else total.failed += 1
      yield { ...line, n }
    }
    throw new Error('the answer was cut off')
  } catch (cause) {
    return new ConnectionError(transport.base, { cause })
  }
}

/** The server may still be at what it was sent before the connection broke. */
function problemOfLine(line: { readonly status: number } | RefusedLine): Problem | null {
  return 'problem' in line
    ? new Problem({ ...problemFields(line.problem), status: line.status, retryAfter: line.retryAfter })
    : null
}

/** Of a request. */
const MAX_LINES = 512
const MAX_CHARACTERS = 262_144
/** Milliseconds for which a request waits for more lines. */
const GATHER_MS = 20

/** The lines of a source. */
class LineSource<Item> {
  readonly #iterator: AsyncIterator<Item> | Iterator<Item>
  readonly #lineOf: (item: Item) => string
  #lines: string[] = []
  #characters = 0
  #arriving: Promise<void> | null = null
  #isOver = false
  /** What the source has thrown. */
  fault: { readonly error: unknown } | null = null

  constructor(items: Items<Item>, lineOf: (item: Item) => string) {
    this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
    this.#lineOf = lineOf
  }

  /** The lines of the next request; none: there are no more. @throws the reason of the signal */
  async next(signal: AbortSignal): Promise<string[]> {
    while (this.#lines.length === 0 && this.#hasMore) await orAborted(this.#arrival(), signal)
    const late = untilLater(GATHER_MS, signal).catch(() => undefined)
    while (this.#hasMore && this.#lines.length < MAX_LINES && this.#characters < MAX_CHARACTERS)
      if (!(await Promise.race([this.#arrival().then(() => true), late]))) break
    const lines = this.#lines
    this.#lines = []
    this.#characters = 0
    return lines
  }

  /** Ends the source. One that is asked for its next line ends when it has that one. */
  async close() {
    if (this.#isOver) return
    const ended = Promise.resolve(this.#iterator.return?.()).catch(() => undefined)
    if (this.#arriving === null) await ended
  }

  get #hasMore(): boolean {
    return !this.#isOver && this.fault === null
  }

  /** Resolves when the next line is there, or the source has no more. */
  #arrival() {
    this.#arriving ??= this.#read().finally(() => {
      this.#arriving = null
    })
    return this.#arriving
  }

  async #read() {
    try {
      const { done, value } = await this.#iterator.next()
      if (done === true) {
        this.#isOver = true
        return
      }
      const line = this.#lineOf(value)
      this.#lines.push(line)
      this.#characters += line.length
    } catch (error) {
      this.fault = { error }
    }
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal) {
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(signal.reason))
    void promise.then(resolve, reject).finally(forget)
  })
}
