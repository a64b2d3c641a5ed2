// http: the socket under the application: deadlines, refusals of what isn't HTTP, and an orderly end.
import {
  createServer,
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Log } from '../ports/log.ts'
import { logAccess } from './socket/access-log.ts'
import { connectionFaults, hangUp } from './socket/faults.ts'
import { problemFormat } from './formats/codecs.ts'
import type { Env } from './request/incoming.ts'
import { NOSNIFF, problemAnswer, problemResponse } from './problem.ts'
import { malformed, overloaded, type Failure } from '../model/failure.ts'

export interface ListenOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly log: Log
  /** Whether each request is logged. */
  readonly accessLog?: boolean
  /**
   * Milliseconds that a client has to send its headers, and the whole request; and for which it may take nothing of its
   * answer.
   */
  readonly deadlines: { readonly headers: number; readonly request: number; readonly answer: number }
  readonly maxConnections: number
}

export interface HttpServer {
  readonly url: string
  /** The IP address that it listens on. */
  readonly address: string
  /** Takes no more requests, answers those under way, breaks off what isn't done after `grace` milliseconds. */
  close(grace: number): Promise<void>
}

/** Milliseconds. Longer than a balancer's, so that it is never the server that hangs up on a reused connection. */
const KEEP_ALIVE_MS = 65_000

/**
 * Connections that may wait while the process is held up: beyond Node's own 511 a burst of callers would be turned
 * away. The system may allow fewer.
 */
const BACKLOG = 4096

/**
 * Connections beyond the bound that may be told so at a time, and milliseconds for which each of them is there. More
 * are closed without a word.
 */
const REFUSALS = 1000
const GOODBYE_MS = 1000

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

/**
 * @param app asked anew for each request: its `fetch` may change. @throws Error in one plain line when the address
 * can't be had
 */
export async function listen(
  app: Pick<Hono<Env>, 'fetch'>,
  { host, port, log, accessLog = false, deadlines, maxConnections }: ListenOptions,
): Promise<HttpServer> {
  let closing = false
  const faults = connectionFaults()
  /**
   * Says goodbye to kept-alive connections once the server is closing, and to browsers that each answer is what it says
   * it is.
   */
  class Answer extends ServerResponse {
    override writeHead(status: number, second?: string | Headers, third?: Headers): this {
      if (closing) this.shouldKeepAlive = false
      return typeof second === 'string'
        ? super.writeHead(status, second, unsniffed(third))
        : super.writeHead(status, unsniffed(second))
    }
  }
  const answer = getRequestListener((request, env) => app.fetch(request, env), {
    errorHandler: (error) => onListenerError(error, log),
  })
  const server = createServer(
    {
      ServerResponse: Answer,
      // The whole holds the headers; Node refuses to wait longer for a part.
      headersTimeout: Math.min(deadlines.headers, deadlines.request),
      requestTimeout: deadlines.request,
      connectionsCheckingInterval: Math.min(1000, deadlines.headers, deadlines.request),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node's own refusal says nothing.
      requireHostHeader: false,
    },
    (request, response) => {
      if (refused.has(request.socket)) return
      faults.note(response)
      if (accessLog) logAccess(log, request, response)
      const failure = doubtOf(request)
      if (failure) {
        turnAway(request, response, failure)
        return
      }
      // Balancers ask after a server's health in HTTP/1.0, which needs no Host.
      request.headers.host ??= 'localhost'
      void answer(request, response)
    },
  )
  server.on('clientError', faults.onFault)
  server.on('connect', (_, socket) => {
    // Node itself listens no longer, and what nobody listens to ends the process.
    socket.on('error', () => socket.destroy())
    hangUp(socket, malformed('this server is no proxy').failure)
  })
  server.on('checkExpectation', (request, response: ServerResponse) => {
    faults.note(response)
    if (accessLog) logAccess(log, request, response)
    turnAway(request, response, { kind: 'expectation', detail: 'Expect may only be 100-continue' })
  })
  const sockets = new Set<Socket>()
  const refused = new WeakSet<Socket>()
  server.maxConnections = maxConnections + REFUSALS
  server.on('connection', (socket) => {
    if (sockets.size >= maxConnections) {
      refused.add(socket)
      refuse(socket)
      return
    }
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const watch = watchReaders(sockets, deadlines.answer)

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(reasonOf(error, host, port), { cause: error })),
    )
    server.listen({ port, host, backlog: BACKLOG }, resolve)
  })
  const bound = server.address()
  const { address, port: boundPort } = typeof bound === 'object' && bound !== null ? bound : { address: host, port }
  return {
    address,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    async close(grace) {
      closing = true
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      // Node counts a connection that never said anything as busy.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
      const timer = setTimeout(() => server.closeAllConnections(), grace)
      await closed
      clearTimeout(timer)
      clearInterval(watch)
    },
  }
}

/**
 * Ends connections whose clients take nothing of what is sent to them for so many milliseconds. All is written in small
 * pieces, so who takes something is seen to. Looks are counted, not time: while the process was held up nobody could
 * take anything.
 */
function watchReaders(sockets: ReadonlySet<Socket>, patience: number): NodeJS.Timeout {
  const every = Math.min(1000, patience / 4)
  const stuck = new WeakMap<Socket, { readonly taken: number; readonly looks: number }>()
  return setInterval(() => {
    for (const socket of sockets) {
      if (socket.writableLength === 0) {
        stuck.delete(socket)
        continue
      }
      const taken = socket.bytesWritten - socket.writableLength
      const before = stuck.get(socket)
      const looks = before?.taken === taken ? before.looks + 1 : 0
      if (looks * every >= patience) socket.destroy()
      else stuck.set(socket, { taken, looks })
    }
  }, every).unref()
}

/**
 * Says at once why there is no place, whatever the request will be. It is read for a while: what lies unread when a
 * connection is closed takes the answer with it.
 */
function refuse(socket: Socket): void {
  hangUp(socket, overloaded('there are too many connections').failure, () => {
    const timer = setTimeout(() => socket.destroy(), GOODBYE_MS)
    socket.once('close', () => clearTimeout(timer))
  })
}

function reasonOf({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is already in use`
    case 'EACCES':
      return `port ${port} of ${host} may not be opened by this user`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine`
    default:
      return `can not listen on port ${port} of ${host}: ${message}`
  }
}

/** With what keeps browsers from guessing, unless something is said of that already. */
function unsniffed(headers: Headers = {}): Headers {
  if ('x-content-type-options' in headers) return headers
  const names = Array.isArray(headers) ? headers.filter((_, at) => at % 2 === 0) : Object.keys(headers)
  if (names.some((name) => String(name).toLowerCase() in NOSNIFF)) return headers
  return Array.isArray(headers) ? [...headers, ...Object.entries(NOSNIFF).flat()] : { ...headers, ...NOSNIFF }
}

/** What didn't get as far as the application, or fell out of it. */
function onListenerError(error: unknown, log: Log): Response {
  if (error instanceof RequestError)
    return problemResponse(malformed('the request line or the Host header is malformed').failure)
  log.error('a request failed', { error })
  return problemResponse({ kind: 'internal', detail: 'the reason is in the log of the server' })
}

/**
 * A segment that leads up or nowhere, which whoever looks at the address takes away: what is asked for isn't where it
 * seems to be.
 */
const DOTS = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/i

/** What must not get as far as the application. */
function doubtOf({ url = '', headers, rawHeaders, httpVersion }: IncomingMessage): Failure | null {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed('a request needs a Host header').failure
  // RFC 9112, 3.2 and 6.1: others on the way may have gone by what this server wouldn't see.
  if (hostsOf(rawHeaders) > 1) return malformed('there are several Host headers').failure
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return { kind: 'unsupportedType', detail: 'the only transfer coding that is known here is chunked' }
  // The query may have what it likes.
  const [path = ''] = url.split(/[?#]/, 1)
  return DOTS.test(path) ? malformed('the path has a segment . or ..').failure : null
}

function hostsOf(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') count += 1
  return count
}

/** Answers without the application. What else was announced to come isn't waited for. */
function turnAway({ headers }: IncomingMessage, response: ServerResponse, failure: Failure): void {
  const { status, headers: told, body } = problemAnswer(failure, { format: problemFormat(headers.accept) })
  response.writeHead(status, { ...told, 'content-length': Buffer.byteLength(body), connection: 'close' }).end(body)
}
