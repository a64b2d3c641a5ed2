// client: the stream of moves. It keeps the id of the last message, and goes on behind it when the connection breaks,
// until its signal ends it.
import type { RequestOf } from '../api/call.ts'
import type { MoveMessage, STREAM_MOVES } from '../api/streams.ts'
import { limitedBy, untilLater } from './limits.ts'
import { linesOf, MAX_TEXT_CHARACTERS } from './lines.ts'
import { ConnectionError, Problem, problemIn } from './problem.ts'
import { OTHER_ROUTES } from './routes.ts'
import { clientHeaders, delayAfter, type Transport } from './transport.ts'
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
  { lastEventId, ...filters }: StreamFilters,
  { signal, silence = SILENCE_MS }: StreamOptions & { readonly silence?: number } = {},
): AsyncGenerator<StreamItem, void, undefined> {
  const place: Place = { id: lastEventId, failures: 0, hasOpened: false }
  // Checks the filters before the first attempt.
  requestTarget(OTHER_ROUTES.stream, filters)
  const limits = limitedBy(signal)
  try {
    for (;;) {
      if (signal?.aborted) return
      let failure: unknown = null
      try {
        yield* connection(transport, filters, place, { signal: limits.signal, silence })
      } catch (error) {
        failure = error
      }
      if (signal?.aborted) return
      if (failure !== null && !isRetried(transport, place, failure)) throw failure
      // A signal that is aborted ends it.
      await untilLater(delayAfter(place.failures, failure), signal).catch(() => undefined)
      place.failures += 1
    }
  } finally {
    limits.clear()
  }
}

/** A stream that was open once goes on for as long as the server may come back; one that never was, as other calls. */
const isRetried = ({ retries }: Transport, { hasOpened, failures }: Place, failure: unknown) =>
  (failure instanceof ConnectionError || (failure instanceof Problem && failure.retryable)) &&
  (hasOpened || failures < retries)

async function* connection(
  transport: Transport,
  filters: Omit<StreamFilters, 'lastEventId'>,
  place: Place,
  { signal, silence }: { readonly signal: AbortSignal; readonly silence: number },
): AsyncGenerator<StreamItem, void, undefined> {
  const { base, fetch } = transport
  const { path } = requestTarget(OTHER_ROUTES.stream, { ...filters, lastEventId: place.id })
  const headers = clientHeaders(transport, { accept: 'text/event-stream' })
  try {
    const response = await fetch(base + path, { headers, signal, redirect: 'manual' })
    if (!response.ok || !response.body) throw await problemIn(response)
    for await (const message of messagesOf(linesOf(response.body, silence))) {
      const { id = place.id, event = 'message', data } = message
      place.hasOpened ||= Object.keys(message).length > 0
      place.id = id
      if (data !== undefined && event === 'bye') return
      if (data !== undefined || message[''] === 'heartbeat') place.failures = 0
      if (data !== undefined) yield* itemsOf(event, data)
    }
    // Such as a page of something on the way.
    if (!place.hasOpened) throw new Error('the answer is no stream of moves')
  } catch (error) {
    throw error instanceof Problem ? error : new ConnectionError(base, { cause: error })
  }
}

/** A message of a stream (server-sent events); the empty name is that of a comment. */
type Fields = { [name in '' | 'data' | 'event' | 'id']?: string }

const isField = (name: string): name is keyof Fields => ['', 'data', 'event', 'id'].includes(name)

async function* messagesOf(lines: AsyncIterable<string>) {
  let fields: Fields = {}
  let characters = 0
  for await (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    characters += line.length
    if (characters > MAX_TEXT_CHARACTERS)
      throw new Error(`a message of the stream is longer than ${MAX_TEXT_CHARACTERS} characters`)
    if (line === '') {
      yield fields
      fields = {}
      characters = 0
    } else if (name === 'data' && fields.data !== undefined) fields.data += `\n${value}`
    else if (isField(name)) fields[name] = value
  }
}

function itemsOf(event: string, data: string): StreamItem[] {
  if (event === 'move') return [parsed<MoveMessage>(data)]
  if (event === 'gap') return [{ gap: parsed<StreamGap['gap']>(data) }]
  return event === 'dropped' ? [{ dropped: parsed<StreamDropped['dropped']>(data) }] : []
}

const parsed = <T>(data: string): T => JSON.parse(data)
