// http: the server below the application. It listens, enforces deadlines, refuses what is not HTTP, and closes in
// order.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Hono } from 'hono'
import { malformed } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'
import type { RequestSignals } from '../ports/signals.ts'
import { problemResponse } from './formats/problem.ts'
import type { Env } from './request/incoming.ts'
import { logAccess } from './socket/access-log.ts'
import { Connections } from './socket/connections.ts'
import { connectionFaults, hangUp, refusalOf, refuseRequest } from './socket/faults.ts'
import { requestTimer, type RouteOf } from './socket/request-times.ts'
import { responseClass } from './socket/response.ts'

export interface ListenOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly log: Log
  /** Whether each request is logged. */
  readonly accessLog?: boolean
  /** Measures requests; left out: nobody asks. */
  readonly signals?: RequestSignals | undefined
  /**
   * Milliseconds: within which a client must send its headers, and the whole request; and for which it may read nothing
   * of its answer.
   */
  readonly deadlines: { readonly headers: number; readonly request: number; readonly answer: number }
  readonly maxConnections: number
}

/** What answers requests. */
export interface Front extends Pick<Hono<Env>, 'fetch'> {
  routeOf?: RouteOf
}

export interface HttpServer {
  readonly url: string
  /** The IP address on which it listens. */
  readonly address: string
  /** Accepts no more requests, answers those under way, and aborts what is not done after `grace` milliseconds. */
  close(grace: number): Promise<void>
}

/**
 * Longer than the idle time of usual load balancers, so that the server does not close a connection that a balancer
 * reuses.
 */
const KEEP_ALIVE_MS = 65_000

/** Longest time between two checks of the deadlines. */
const MAX_CHECK_INTERVAL_MS = 1000

/**
 * Connections that may wait while the process is busy. Node's default of 511 would refuse connections in a burst. The
 * system may allow fewer.
 */
const MAX_BACKLOG_CONNECTIONS = 4096

/**
 * Listens, and passes requests to the application.
 * @param app its functions are read for each request, so they may be replaced
 * @throws Error with one line when the address cannot be used
 */
export async function listen(
  app: Front,
  { host, port, log, accessLog = false, signals, deadlines, maxConnections }: ListenOptions,
): Promise<HttpServer> {
  let closing = false
  const faults = connectionFaults()
  const timer = signals && requestTimer(signals, (method, url) => app.routeOf?.(method, url) ?? null)
  const note = (request: IncomingMessage, response: ServerResponse) => {
    faults.note(response)
    if (timer) response.on('close', timer)
    if (accessLog) logAccess(log, request, response)
  }
  const answer = getRequestListener((request, env) => app.fetch(request, env), {
    errorHandler: (error) => onListenerError(error, log),
  })
  const server = createServer({ ServerResponse: responseClass(() => closing), ...timeoutsOf(deadlines) })
  // Their bytes are bounded. By its own bound, Node would pass over the last ones without a word, and a proof or a key
  // that comes twice with different values would not be noticed.
  server.maxHeadersCount = 0
  const connections = new Connections(server, { maxConnections, answerTimeout: deadlines.answer })
  server.on('request', (request, response) => {
    if (connections.isRefused(request.socket)) return
    note(request, response)
    const failure = refusalOf(request)
    if (failure) {
      refuseRequest(request, response, failure)
      return
    }
    // Load balancers check the health of a server in HTTP/1.0, which needs no Host.
    request.headers.host ??= 'localhost'
    void answer(request, response)
  })
  server.on('clientError', faults.onFault)
  server.on('connect', (_, socket) => {
    // Node has removed its own listener, and an error without a listener would end the process.
    socket.on('error', () => socket.destroy())
    hangUp(socket, malformed('this server is no proxy').failure)
  })
  server.on('checkExpectation', (request, response) => {
    note(request, response)
    refuseRequest(request, response, { kind: 'expectation', detail: 'Expect may only be 100-continue' })
  })
  const bound = await bind(server, host, port)
  return {
    address: bound.address,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    close(grace) {
      closing = true
      return close(server, connections, grace)
    },
  }
}

const timeoutsOf = ({ headers, request }: ListenOptions['deadlines']) => ({
  // Node requires that the headers have no more time than the whole request.
  headersTimeout: Math.min(headers, request),
  requestTimeout: request,
  connectionsCheckingInterval: Math.min(MAX_CHECK_INTERVAL_MS, headers, request),
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Checked here instead, because Node's own refusal has no body.
  requireHostHeader: false,
})

/** @throws Error with one line when the address cannot be used */
async function bind(server: Server, host: string, port: number): Promise<{ address: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(reasonOf(error, host, port), { cause: error })),
    )
    server.listen({ port, host, backlog: MAX_BACKLOG_CONNECTIONS }, resolve)
  })
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound : { address: host, port }
}

async function close(server: Server, connections: Connections, grace: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  connections.endUnused()
  const timer = setTimeout(() => server.closeAllConnections(), grace)
  await closed
  clearTimeout(timer)
  connections.close()
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

/** The answer to a request that could not be passed to the application, or whose handler threw. */
function onListenerError(error: unknown, log: Log): Response {
  if (error instanceof RequestError)
    return problemResponse(malformed('the request line or the Host header is malformed').failure)
  log.error('a request failed', { error })
  return problemResponse({ kind: 'internal', detail: 'the reason is in the log of the server' })
}
