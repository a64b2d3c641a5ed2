// http: the class of Node's responses, with what every answer of this server has in common, and what is noted of a
// request until its answer has ended.
import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http'
import type { RequestSpan } from '../../ports/signals.ts'
import { NOSNIFF } from '../formats/problem.ts'

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

export class TimedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  readonly began = performance.now()
  /** The template of its path, where the handler knows it; null: the router does, if there is a route. */
  route: string | null = null
  /** What logs show in place of a path that has a secret; null: the path. */
  shownPath: string | null = null
  /** null: nothing is traced. */
  span: RequestSpan | null = null
}

/**
 * A class of responses that end kept-alive connections once the server is closing, and forbid browsers to guess the
 * type of the content.
 */
export function responseClass(isClosing: () => boolean): typeof TimedResponse {
  return class<R extends IncomingMessage> extends TimedResponse<R> {
    override writeHead(status: number, second?: string | Headers, third?: Headers): this {
      if (isClosing()) this.shouldKeepAlive = false
      const headers = typeof second === 'string' ? third : second
      if (headers === undefined || !(NAME in headers)) this.setHeader(NAME, NOSNIFF[NAME])
      return typeof second === 'string' ? super.writeHead(status, second, third) : super.writeHead(status, second)
    }
  }
}

const NAME = 'x-content-type-options'
