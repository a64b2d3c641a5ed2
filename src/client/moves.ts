// client: the stream of moves. It keeps the id of the last message, and goes on behind it when the connection breaks,
// until its signal ends it.
import type { RequestOf } from '../api/call.ts'
import type { MoveMessage, STREAM_MOVES } from '../api/streams.ts'
import { limitedBy } from './limits.ts'
import { linesOf, MAX_TEXT_CHARACTERS } from './lines.ts'
import { ConnectionError, problemIn } from './problem.ts'
import { OTHER_ROUTES } from './routes.ts'
import { clientHeaders, nextTry, type Transport } from './transport.ts'
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

/** @param silence milliseconds: see `SILENCE_MS` */
export async function* streamMoves(
  transport: Transport,
  { lastEventId, ...filters }: StreamFilters,
  { signal, silence = SILENCE_MS }: StreamOptions & { readonly silence?: number } = {},
): AsyncGenerator<StreamItem, void, undefined> {
  const { base, fetch, retries } = transport
  const limits = limitedBy(signal)
  /** The message that came last. */
  let id = lastEventId
  /** Failures since the last message. */
  let failures = 0
  let hasOpened = false
  /** Returns why it has ended. */
  const connection = async function* () {
    const { path } = requestTarget(OTHER_ROUTES.stream, { ...filters, lastEventId: id })
    const headers = clientHeaders(transport, { accept: 'text/event-stream' })
    try {
      const response = await fetch(base + path, { headers, signal: limits.signal, redirect: 'manual' })
      if (!response.ok || !response.body) return await problemIn(response)
      for await (const message of messagesOf(linesOf(response.body, silence))) {
        const [event, data] = [message.get('event'), message.get('data')]
        hasOpened ||= message.size > 0
        id = message.get('id') ?? id
        if (data !== undefined || message.get('') === 'heartbeat') failures = 0
        if (data === undefined) continue
        if (event === 'bye') break
        yield* itemsOf(event, data)
      }
      // Such as a page of something on the way.
      throw new Error(hasOpened ? 'the stream has ended' : 'the answer is no stream of moves')
    } catch (cause) {
      return new ConnectionError(base, { cause })
    }
  }
  try {
    for (;;) {
      const failure = yield* connection()
      // A stream that was open once goes on for as long as the server may come back; another one as other calls.
      await nextTry(failure, failures, hasOpened ? Infinity : retries, limits)
      failures += 1
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error
  } finally {
    limits.clear()
  }
}

/** The fields of a message; the empty name is that of a comment. */
const FIELDS: ReadonlySet<string> = new Set(['', 'data', 'event', 'id'])

/** The messages of a stream (server-sent events): their fields by name. */
async function* messagesOf(lines: AsyncIterable<string>) {
  let fields = new Map<string, string>()
  let characters = 0
  for await (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    const earlier = name === 'data' ? fields.get(name) : undefined
    characters += line.length
    if (characters > MAX_TEXT_CHARACTERS)
      throw new Error(`a message of the stream is longer than ${MAX_TEXT_CHARACTERS} characters`)
    if (line === '') {
      yield fields
      fields = new Map()
      characters = 0
    } else if (FIELDS.has(name)) fields.set(name, earlier === undefined ? value : `${earlier}\n${value}`)
  }
}

function itemsOf(event: string | undefined, data: string): StreamItem[] {
  if (event === 'move') return [parsed<MoveMessage>(data)]
  if (event === 'gap') return [{ gap: parsed<StreamGap['gap']>(data) }]
  return event === 'dropped' ? [{ dropped: parsed<StreamDropped['dropped']>(data) }] : []
}

const parsed = <T>(data: string): T => JSON.parse(data)
