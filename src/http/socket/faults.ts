// http: answers a connection that sends something other than HTTP, or is too slow. Each request gets one answer, in the
// order of the requests. Requests that programs on the way might read differently are refused, too.
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { malformed, type Failure } from '../../model/failure.ts'
import { problemFormat } from '../formats/codecs.ts'
import { problemAnswer } from '../formats/problem.ts'

export interface ConnectionFaults {
  /** Must be called for each request before it is answered. */
  note(answer: ServerResponse): void
  /** Must be called when Node cannot parse what was received, or when it did not arrive in time. */
  onFault(error: NodeJS.ErrnoException, socket: Duplex): void
}

/** Answers to requests that may take as long as they like to come. */
const endless = new WeakSet<object>()

/** Frees the request from the time that it may take as a whole. Whoever asks for that bounds it otherwise. */
export const mayComeSlowly = (answer: ServerResponse | Http2ServerResponse): void => void endless.add(answer)

export function connectionFaults(): ConnectionFaults {
  /** The answer to the newest request of each connection. */
  const newest = new WeakMap<Duplex, ServerResponse>()
  /** Sockets whose fault has been handled; nothing more is read from them. */
  const handled = new WeakSet<Duplex>()
  return {
    note(answer) {
      // The socket of the request: the response gets its socket only when the answers before it have been sent.
      newest.set(answer.req.socket, answer)
    },
    onFault(error, socket) {
      if (!socket.writable || error.code === 'ECONNRESET') {
        socket.destroy()
        return
      }
      // Node reports the rest of the unreadable data as a fault, too.
      if (handled.has(socket)) return
      const answer = newest.get(socket)
      if (answer !== undefined && !answer.req.complete && endless.has(answer)) {
        // What is broken off has nobody who waits for the rest of the answer.
        if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroy()
        return
      }
      handled.add(socket)
      const isNext = answer === undefined || answer.req.complete
      // The fault belongs to the newest request unless that was received as a whole. If that request has been answered
      // already, nothing more is sent.
      const end = () => {
        if (isNext || !answer.headersSent) hangUp(socket, failureOf(error.code))
        else socket.end(() => socket.destroy())
      }
      if (answer === undefined || answer.writableFinished || (!isNext && !answer.headersSent)) end()
      else answer.once('finish', end)
    },
  }
}

/** Answers with a problem, directly on the socket, and closes the connection. */
export function hangUp(
  socket: Duplex,
  failure: Failure,
  ended = () => {
    socket.destroy()
  },
): void {
  const { status, headers, body } = problemAnswer(failure)
  const lines = Object.entries({
    ...headers,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines, '', body].join('\r\n'), ended)
}

function failureOf(code: string | undefined): Failure {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { kind: 'timeout', detail: 'the request did not come whole in time' }
    case 'HPE_HEADER_OVERFLOW':
      return { kind: 'headersTooLarge', detail: 'the headers are too large' }
    default:
      return malformed('this is not HTTP/1.1').failure
  }
}

/** Why a request must not reach the application; null when it may. */
export function refusalOf({ headers, rawHeaders, httpVersion }: IncomingMessage): Failure | null {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed('a request needs a Host header').failure
  // RFC 9112, 3.2 and 6.1: a proxy may have read another of them than this server would.
  if (hostsOf(rawHeaders) > 1) return malformed('there are several Host headers').failure
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return { kind: 'unsupportedType', detail: 'the only transfer coding that is known here is chunked' }
  return null
}

function hostsOf(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') count += 1
  return count
}

/** Answers without the application, and does not wait for the body. */
export function refuseRequest({ headers }: IncomingMessage, response: ServerResponse, failure: Failure): void {
  const { status, headers: answered, body } = problemAnswer(failure, { format: problemFormat(headers.accept) })
  response.writeHead(status, { ...answered, 'content-length': Buffer.byteLength(body), connection: 'close' }).end(body)
}
