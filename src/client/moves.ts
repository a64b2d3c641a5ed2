// client: the stream of moves. It goes on where it stopped when the connection breaks, until its signal ends it.
//
// - `moves.ts` keeps the id of the last message. A watch, which rests while the reader works, ends a connection
//   without heartbeats.
import type { RequestOf } from '../api/call.ts'
import type { MoveMessage, STREAM_MOVES } from '../api/streams.ts'
import { onAbort, untilLater } from './limits.ts'
import { linesOf, MAX_TEXT_BYTES } from './lines.ts'
import { ConnectionError, Problem, problemIn } from './problem.ts'
import { OTHER_ROUTES } from './routes.ts'
import { delayAfter, clientHeaders, type Transport } from './transport.ts'
import { requestTarget } from './url.ts'

/** Filters of a stream, as in a list; `lastEventId`: go on behind that message. */
export type StreamFilters = RequestOf<typeof STREAM_MOVES>

export interface StreamOptions {
  /** Ends the stream, without an error. */
  readonly signal?: AbortSignal | undefined
}

/** Moves are missing: the server does not keep those between the two messages any more. */
export interface StreamGap {
  readonly gap: { readonly from: string; readonly to: string }
}

/** So many moves were left out, because this reader was too slow. */
export interface StreamDropped {
  readonly dropped: { readonly count: number }
}

export type StreamItem = MoveMessage | StreamGap | StreamDropped

/** Milliseconds without a byte after which a connection counts as broken: the server sends something every 15 s. */
const SILENCE_MS = 45_000

interface Place {
  /** The message that came last. */
  id: string | undefined
  /** Failures since the last message. */
  failures: number
  hasOpened: boolean
}

/** @param silence milliseconds: see `SILENCE_MS` */
export async function* streamMoves(
  transport: Transport,
  filters: StreamFilters,
  { signal, silence = SILENCE_MS }: StreamOptions & { readonly silence?: number } = {},
): AsyncGenerator<StreamItem, void, undefined> {
  const { lastEventId, ...rest } = filters
  const place: Place = { id: lastEventId, failures: 0, hasOpened: false }
  // Checks the filters before the first attempt.
  requestTarget(OTHER_ROUTES.stream, rest)
  for (;;) {
    if (signal?.aborted) return
    const ended = new AbortController()
    const forget = signal === undefined ? () => {} : onAbort(signal, () => ended.abort())
    let failure: unknown = null
    try {
      yield* connection(transport, { filters: rest, place, silence, ended })
    } catch (error) {
      failure = error
    } finally {
      forget()
      ended.abort()
    }
    if (signal?.aborted) return
    if (!goesOn(transport, place, failure)) throw failure
    // A signal that is aborted ends it.
    await untilLater(delayAfter(place.failures, failure), signal).catch(() => undefined)
    place.failures += 1
  }
}

/** A stream that was open once goes on for as long as the server may come back; one that never was, as other calls. */
function goesOn({ retries }: Transport, { hasOpened, failures }: Place, failure: unknown) {
  if (failure === null) return true
  const isRetried = failure instanceof ConnectionError || (failure instanceof Problem && failure.retryable)
  return isRetried && (hasOpened || failures < retries)
}

interface Connection {
  readonly filters: Omit<StreamFilters, 'lastEventId'>
  readonly place: Place
  readonly silence: number
  /** Aborting it closes the connection. */
  readonly ended: AbortController
}

async function* connection(
  transport: Transport,
  { filters, place, silence, ended }: Connection,
): AsyncGenerator<StreamItem, void, undefined> {
  const { base, fetch } = transport
  const { path } = requestTarget(OTHER_ROUTES.stream, { ...filters, lastEventId: place.id })
  const headers = clientHeaders(transport, { accept: 'text/event-stream' })
  const watch = watchOf(silence, () => ended.abort())
  try {
    const response = await fetch(base + path, { headers, signal: ended.signal, redirect: 'manual' })
    if (!response.ok || !response.body) throw await problemIn(response)
    const messages = messagesOf(response.body, watch)
    for (;;) {
      // The reader's own time does not count.
      watch.start()
      const { done, value: message } = await messages.next()
      watch.stop()
      if (done) break
      place.hasOpened ||= message.isKnown
      if (message.id !== undefined) place.id = message.id
      if (message.event === 'bye') return
      if (message.event !== null || message.isHeartbeat) place.failures = 0
      const item = itemOf(message)
      if (item !== null) yield item
    }
    // Such as a page of something on the way.
    if (!place.hasOpened) throw new Error('the answer is no stream of moves')
  } catch (error) {
    throw error instanceof Problem ? error : new ConnectionError(base, { cause: error })
  } finally {
    watch.stop()
    ended.abort()
  }
}

/** Rings when no byte comes for too long while one is waited for. */
function watchOf(limit: number, onSilence: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = () => clearTimeout(timer)
  return {
    stop,
    start() {
      stop()
      timer = setTimeout(onSilence, limit)
    },
  }
}

const FIELDS: ReadonlySet<string> = new Set(['', 'data', 'event', 'id'])

/**
 * The messages of a stream (server-sent events); without `event` and with no id one is a comment. `isKnown`: whether it
 * has a field that such messages have.
 */
async function* messagesOf(body: ReadableStream<Uint8Array>, watch: ReturnType<typeof watchOf>) {
  let fields = new Map<string, string>()
  let size = 0
  for await (const line of linesOf(body, { onBytes: watch.start })) {
    if (line !== '') {
      size += line.length
      if (size > MAX_TEXT_BYTES) throw new Error(`a message of the stream is longer than ${MAX_TEXT_BYTES} characters`)
      const colon = line.indexOf(':')
      const [name, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
      if (!FIELDS.has(name)) continue
      const before = name === 'data' ? fields.get('data') : undefined
      fields.set(name, before === undefined ? value : `${before}\n${value}`)
      continue
    }
    const [data, id] = [fields.get('data'), fields.get('id')]
    yield {
      event: data === undefined ? null : (fields.get('event') ?? 'message'),
      id,
      data: data ?? '',
      isHeartbeat: fields.get('') === 'heartbeat',
      isKnown: fields.size > 0,
    }
    fields = new Map()
    size = 0
  }
}

function itemOf({ event, data }: { readonly event: string | null; readonly data: string }): StreamItem | null {
  if (event === 'move') return parsed<MoveMessage>(data)
  if (event === 'gap') return { gap: parsed<StreamGap['gap']>(data) }
  return event === 'dropped' ? { dropped: parsed<StreamDropped['dropped']>(data) } : null
}

const parsed = <T>(data: string): T => JSON.parse(data)
