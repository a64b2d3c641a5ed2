// http: the stream of moves: server-sent events, written to the socket as they come.
import type { Context, Hono } from 'hono'
import { STREAM_MOVES } from '../../api/streams.ts'
import { denial, scopeOfToken, type Caller, type Role } from '../../model/caller.ts'
import { invalid } from '../../model/failure.ts'
import { tagErrors, type TagLimits } from '../../model/tags.ts'
import type { Clock } from '../../ports/clock.ts'
import { requestReader } from '../request/reader.ts'
import { acceptedOf, callHeaders } from '../answers/answer-format.ts'
import type { Format } from '../formats/negotiate.ts'
import { headerOf, socketed, type Env } from '../request/incoming.ts'
import { SseBroadcaster, type BroadcasterOptions } from './sse-broadcaster.ts'

export interface LiveOptions {
  readonly live: Omit<BroadcasterOptions, 'clock'> & { readonly tagLimits: TagLimits }
  readonly clock: Clock
  /** Aborted when the server is to end: streams end then. */
  readonly stopping: AbortSignal
}

/**
 * Answers a request by a stream of moves. `caller`: who reads, now. It throws a FluxError when they may not any more.
 */
export type StreamMoves = (c: Context<Env>, caller: () => Caller) => Promise<Response>

/** `callerOf`: the caller of a request. It throws a FluxError when they may not make the call. */
export function addLive(app: Hono<Env>, stream: StreamMoves, callerOf: (c: Context<Env>, role: Role) => Caller): void {
  const { role, route } = STREAM_MOVES
  app.get(route, (c) => stream(c, () => callerOf(c, role)))
}

const EVENT_STREAM: readonly Format[] = [{ type: 'text/event-stream', suffix: null }]

/** Characters of the id of a message: longer ones are unknown. */
const MAX_ID_CHARACTERS = 128

/** The streams of this server. */
export function moveStreams({ live, clock, stopping }: LiveOptions): StreamMoves {
  const reader = requestReader(STREAM_MOVES)
  const broadcaster = new SseBroadcaster({ ...live, clock })
  stopping.addEventListener('abort', () => broadcaster.end('the server is stopping'))
  return async (c, caller) => {
    const scope = scopeOfToken(caller().name)
    const mayReadAll = () => denial(caller(), 'read') === null
    acceptedOf(c, EVENT_STREAM)
    const { lastEventId, ...filters } = reader.finish(reader.begin(c), null)
    const errors = tagErrors(filters.tag ?? [], '/tag', live.tagLimits)
    if (errors.length > 0) throw invalid(`invalid filters: ${errors[0]?.pointer} ${errors[0]?.detail}`, errors)
    const headers = headersOf(c)
    // There is no socket to write to, or nothing is to be written.
    if (c.req.method === 'HEAD' || !socketed(c)) return new Response(null, { headers })
    const { outgoing } = c.env
    const from = (headerOf(c, 'last-event-id') ?? lastEventId ?? '').slice(0, MAX_ID_CHARACTERS) || null
    const begin = (opening: string) => {
      if (outgoing.destroyed) return null
      // Its end is that of the connection: to make a chunk of HTTP of each write costs more than the write.
      outgoing.removeHeader('transfer-encoding')
      outgoing.writeHead(200, headers)
      outgoing.write(opening)
      return outgoing
    }
    const stream = await broadcaster.open({ scope, filters, from, mayReadAll, begin })
    if (stream) {
      outgoing.on('drain', () => stream.onDrained())
      outgoing.once('close', () => broadcaster.close(stream))
      if (outgoing.destroyed) broadcaster.close(stream)
    }
    // Never resolves, and goes with its request, which nothing else holds. Node's server would write any response over
    // what has been written, once a header was added to it, as that of CORS is.
    return new Promise(() => {})
  }
}

/** With those of CORS. */
function headersOf(c: Context<Env>): { [name: string]: string } {
  const before = Object.fromEntries(c.res.headers)
  const origin = before['access-control-allow-origin']
  return {
    ...before,
    ...callHeaders(c, { answerType: 'text/event-stream' }),
    connection: 'close',
    vary: origin === undefined || origin === '*' ? 'Accept' : 'Origin, Accept',
    // Proxies that buffer answers pass this one on at once.
    'x-accel-buffering': 'no',
  }
}
