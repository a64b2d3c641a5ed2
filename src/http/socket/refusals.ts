// http: requests that are refused before they reach the application, because other programs on the way might read them
// differently.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { malformed, type Failure } from '../../model/failure.ts'
import { problemFormat } from '../formats/codecs.ts'
import { problemAnswer } from '../problem.ts'

/** The segments `.` and `..`, also escaped: a client or a proxy may resolve them, so the path is ambiguous. */
const DOT_SEGMENT = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/i

/** Why a request must not reach the application; null when it may. */
export function refusalOf({ url = '', headers, rawHeaders, httpVersion }: IncomingMessage): Failure | null {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed('a request needs a Host header').failure
  // RFC 9112, 3.2 and 6.1: a proxy may have read another of them than this server would.
  if (hostsOf(rawHeaders) > 1) return malformed('there are several Host headers').failure
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return { kind: 'unsupportedType', detail: 'the only transfer coding that is known here is chunked' }
  // The query may contain anything.
  const [path = ''] = url.split(/[?#]/, 1)
  return DOT_SEGMENT.test(path) ? malformed('the path has a segment . or ..').failure : null
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
