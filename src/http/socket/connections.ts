// http: the connections of a server: how many there are, which ones end, and what is answered to those that send something
// other than HTTP, or send too slowly.
//
// - Node notices that a client takes nothing of its answer. A connection is watched for that only once something waits to
//   be taken: with `server.timeout`, Node would set two timers for each request.
import { STATUS_CODES, type Server, type ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { malformed, overloaded, type Failure } from '../../model/failure.ts'
import { problemAnswer } from '../formats/problem.ts'

/**
 * Connections above the limit that may be refused with an answer at the same time. Further ones are closed without one.
 */
const MAX_REFUSED_CONNECTIONS = 1000

/** How long a refused connection stays open, so that its client can read the answer. */
const REFUSED_OPEN_MS = 1000

/** Longest time after which a connection with something to take is watched. */
const MAX_CHECK_INTERVAL_MS = 1000

/** Answers to requests that may take as long as they like to come. */
const endless = new WeakSet<object>()

/** Exempts a request from the time that it may take as a whole. The caller bounds it otherwise. */
export const mayComeSlowly = (answer: ServerResponse | Http2ServerResponse): void => void endless.add(answer)

/** The connections of one server. */
export class Connections {
  readonly #open = new Set<Socket>()
  /** The answer to the newest request of each connection. */
  readonly #newest = new WeakMap<Duplex, ServerResponse>()
  /** Answers that came to wait for those before them. Node tells them nothing when their connection closes. */
  readonly #queued = new WeakMap<Duplex, Set<ServerResponse>>()

  /** `answerTimeout`: milliseconds for which a client may take nothing of its answer. */
  constructor(server: Server, maxConnections: number, answerTimeout: number) {
    server.maxConnections = maxConnections + MAX_REFUSED_CONNECTIONS
    server.on('connection', (socket) => {
      if (this.#open.size >= maxConnections) return refuse(socket)
      this.#open.add(socket)
      socket.once('close', () => {
        this.#open.delete(socket)
        for (const answer of this.#queued.get(socket) ?? []) if (answer.socket === null) answer.destroy().emit('close')
      })
    })
    const timer = setInterval(
      () => {
        for (const socket of this.#open)
          if (socket.writableLength > 0 && !socket.timeout) socket.setTimeout(answerTimeout)
      },
      Math.min(MAX_CHECK_INTERVAL_MS, answerTimeout / 4),
    ).unref()
    server.on('close', () => clearInterval(timer))
    // Node has noticed no progress of that connection for its time, or it is idle after an answer.
    server.on('timeout', (socket) => {
      const isIdle = this.#newest.get(socket)?.writableFinished !== false
      if (isIdle || socket.writableLength > 0) socket.destroy()
      else socket.setTimeout(0)
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#onFault(error.code, socket))
    server.on('connect', (_, socket) => {
      // Node has removed its own listener, and an error without a listener would end the process.
      socket.on('error', () => socket.destroy())
      rejectConnection(socket, malformed('this server is no proxy').failure)
    })
  }

  /** To be called for each request before it is answered. */
  note(answer: ServerResponse): void {
    // The socket of the request: the response gets its socket only when the answers before it have been sent.
    const { socket } = answer.req
    this.#newest.set(socket, answer)
    if (answer.socket !== null) return
    const queued = this.#queued.get(socket) ?? new Set<ServerResponse>()
    this.#queued.set(socket, queued.add(answer))
    answer.once('close', () => queued.delete(answer))
  }

  /** Ends connections on which nothing was ever received, because Node counts them as busy. */
  endUnused(): void {
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Node can't parse what was received, or it did not arrive in time. */
  #onFault(code: string | undefined, socket: Duplex): void {
    const answer = this.#newest.get(socket)
    if (!socket.writable || code === 'ECONNRESET') socket.destroy()
    // The fault is in what comes after the newest request, or in a request that is not answered.
    else if (answer === undefined || (answer.req.complete ? answer.writableFinished : !isBegun(answer)))
      rejectConnection(socket, failureOf(code))
    else if (endless.has(answer) && !answer.req.complete) {
      if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy()
    } else {
      // The answer under way is the last, so nothing more is read.
      socket.pause()
      answer.shouldKeepAlive = false
      if (answer.writableFinished) socket.destroy()
      else answer.once('finish', () => socket.end(() => socket.destroy()))
    }
  }
}

const isBegun = (answer: ServerResponse): boolean => answer.headersSent || endless.has(answer)

/**
 * Answers at once that there are too many connections, without reading the request. The connection stays open for a
 * while, because closing it with unread data would discard the answer.
 */
function refuse(socket: Socket): void {
  rejectConnection(socket, overloaded('there are too many connections').failure, () => {
    const timer = setTimeout(() => socket.destroy(), REFUSED_OPEN_MS)
    socket.once('close', () => clearTimeout(timer))
  })
}

/** Answers with a problem, directly on the socket, and closes the connection. */
function rejectConnection(socket: Duplex, failure: Failure, ended = () => void socket.destroy()): void {
  const { status, headers, body } = problemAnswer(failure)
  const lines = Object.entries({
    ...headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n'), ended)
}

const FAULTS: { readonly [code: string]: Failure } = {
  ERR_HTTP_REQUEST_TIMEOUT: { kind: 'timeout', detail: 'the request did not come whole in time' },
  HPE_HEADER_OVERFLOW: { kind: 'headersTooLarge', detail: 'the headers are too large' },
}

const failureOf = (code = ''): Failure => FAULTS[code] ?? malformed('this is not HTTP/1.1').failure
