// http: the server below the application. It listens, enforces deadlines, refuses what is not HTTP, and closes in
// order.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Hono } from 'hono'
import { malformed, type Failure } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'
import type { RequestSignals, Traces } from '../ports/signals.ts'
import { problemFormat } from './formats/codecs.ts'
import { problemAnswer, problemResponse } from './formats/problem.ts'
import { isRepeated, type Env } from './request/incoming.ts'
import { Connections } from './socket/connections.ts'
import { requestEnded, traceparentOf, type RouteOf } from './socket/observe.ts'
import { responseClass, type TimedResponse } from './socket/response.ts'

export interface ListenOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly log: Log
  /** Whether each request is logged. */
  readonly accessLog?: boolean
  /** Measures requests; left out: there are no metrics. */
  readonly signals?: RequestSignals | undefined
  /**
   * Milliseconds: within which a client must send its headers, and the whole request; and for which it may read nothing
   * of its answer.
   */
  readonly deadlines: { readonly headers: number; readonly request: number; readonly answer: number }
  readonly maxConnections: number
}

/** What answers requests. Its parts are read for each request, so they may be replaced. */
export interface RequestHandler extends Pick<Hono<Env>, 'fetch'> {
  routeOf?: RouteOf
  traces?: Pick<Traces, 'request'> | null
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
 * @throws Error with one line when the address cannot be used
 */
export async function listen(
  app: RequestHandler,
  { host, port, log, accessLog = false, signals, deadlines, maxConnections }: ListenOptions,
): Promise<HttpServer> {
  let closing = false
  const routeOf: RouteOf = (method, url) => app.routeOf?.(method, url) ?? null
  const ended = requestEnded({ routeOf, signals, accessLog: accessLog ? log : null })
  const answer = getRequestListener((request, env) => app.fetch(request, env), {
    errorHandler: (error) => onListenerError(error, log),
  })
  const server = createServer({
    ServerResponse: responseClass(() => closing),
    // Node requires that the headers have no more time than the whole request.
    headersTimeout: Math.min(deadlines.headers, deadlines.request),
    requestTimeout: deadlines.request,
    connectionsCheckingInterval: Math.min(MAX_CHECK_INTERVAL_MS, deadlines.headers, deadlines.request),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Checked here instead, because Node's own refusal has no body.
    requireHostHeader: false,
  })
  // Their bytes are bounded. By its own bound, Node would pass over the last ones without a word, and a proof or a key
  // that comes twice with different values would not be noticed.
  server.maxHeadersCount = 0
  const connections = new Connections(server, maxConnections, deadlines.answer)
  const begin = (response: TimedResponse) => {
    connections.note(response)
    response.on('close', ended)
  }
  server.on('request', (request, response) => {
    // The connection was refused.
    if (request.socket.writableEnded) return
    begin(response)
    const failure = refusalOf(request)
    if (failure) return refuseRequest(request, response, failure)
    // Load balancers check the health of a server in HTTP/1.0, which needs no Host.
    request.headers.host ??= 'localhost'
    const span = app.traces?.request(request.method ?? '', traceparentOf(request.headers['traceparent']))
    if (!span) return void answer(request, response)
    response.span = span
    void span.run(() => answer(request, response))
  })
  server.on('checkExpectation', (request, response) => {
    begin(response)
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

/** @throws Error with one line when the address cannot be used */
async function bind(server: Server, host: string, port: number): Promise<{ address: string; port: number }> {
  server.listen({ port, host, backlog: MAX_BACKLOG_CONNECTIONS })
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Error(reasonOf(error, host, port), { cause: error })
  })
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound : { address: host, port }
}

async function close(server: Server, connections: Connections, grace: number): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  connections.endUnused()
  const timer = setTimeout(() => server.closeAllConnections(), grace)
  await closed
  clearTimeout(timer)
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

/** Why a request must not reach the application; null when it may. Programs on the way might read it differently. */
function refusalOf({ headers, rawHeaders, httpVersion }: IncomingMessage): Failure | null {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed('a request needs a Host header').failure
  // RFC 9112, 3.2 and 6.1: a proxy may have read another of them than this server would.
  if (isRepeated(rawHeaders, 'host')) return malformed('there are several Host headers').failure
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return { kind: 'unsupportedType', detail: 'the only transfer coding that is known here is chunked' }
  return null
}

/** Answers without the application, and does not wait for the body. */
function refuseRequest({ headers }: IncomingMessage, response: ServerResponse, failure: Failure): void {
  const { status, headers: answered, body } = problemAnswer(failure, { format: problemFormat(headers.accept) })
  response.writeHead(status, { ...answered, 'content-length': Buffer.byteLength(body), connection: 'close' }).end(body)
}

/** The answer to a request that could not be passed to the application, or whose handler threw. */
function onListenerError(error: unknown, log: Log): Response {
  if (error instanceof RequestError)
    return problemResponse(malformed('the request line or the Host header is malformed').failure)
  log.error('a request failed', { error })
  return problemResponse({ kind: 'internal', detail: 'the reason is in the log of the server' })
}
