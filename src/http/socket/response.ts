// http: the class of Node's responses, with what every answer of this server has in common.
import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http'
import { NOSNIFF } from '../formats/problem.ts'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

/** A response that knows when its request came, and what route it took. */
export class TimedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  readonly began = performance.now()
  /** The template of its path, where the handler knows it; null: the router does, if anybody. */
  route: string | null = null
}

/**
 * A class of responses that end kept-alive connections once the server is closing, and forbid browsers to guess the
 * type of the content.
 */
export function responseClass(isClosing: () => boolean): typeof TimedResponse {
  return class<R extends IncomingMessage> extends TimedResponse<R> {
    override writeHead(status: number, second?: string | Headers, third?: Headers): this {
      if (isClosing()) this.shouldKeepAlive = false
      return typeof second === 'string'
        ? super.writeHead(status, second, withNosniff(third))
        : super.writeHead(status, withNosniff(second))
    }
  }
}

/** The headers with `X-Content-Type-Options`, unless they have it already. */
function withNosniff(headers: Headers = {}): Headers {
  if ('x-content-type-options' in headers) return headers
  const names = Array.isArray(headers) ? headers.filter((_, at) => at % 2 === 0) : Object.keys(headers)
  if (names.some((name) => String(name).toLowerCase() in NOSNIFF)) return headers
  return Array.isArray(headers) ? [...headers, ...Object.entries(NOSNIFF).flat()] : { ...headers, ...NOSNIFF }
}
