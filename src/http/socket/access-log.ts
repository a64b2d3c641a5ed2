// http: logs requests: method, path, query, status and duration, without secrets.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { redactQuery } from '../../model/secret-names.ts'
import type { Log } from '../../ports/log.ts'
import type { Env } from '../request/incoming.ts'

/** For requests whose path contains a secret: the path to log instead. */
const shownPaths = new WeakMap<object, string>()

/** Sets the path that is logged for this request. */
export function shownPath(c: Context<Env>, path: string): void {
  shownPaths.set(requestOf(c), path)
}

/** The path for the log, without the query. */
export const pathShown = (c: Context<Env>): string => shownPaths.get(requestOf(c)) ?? c.req.path

/** In tests without a socket, there is only the request of the web API. */
const requestOf = (c: Context<Env>): object => c.env?.incoming ?? c.req.raw

/** Logs the request when its answer is sent, or its client has disconnected. `duration`: milliseconds. */
export function logAccess(log: Log, request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now()
  response.once('close', () => {
    const [path = '', query] = splitUrl(request.url ?? '')
    log.info('request', {
      method: request.method,
      path: shownPaths.get(request) ?? path,
      ...(query !== undefined && { query: redactQuery(query) }),
      // null if the client disconnected before an answer was sent.
      status: response.headersSent ? response.statusCode : null,
      ...(!response.writableFinished && { aborted: true }),
      duration: Math.round((performance.now() - began) * 10) / 10,
    })
  })
}

function splitUrl(url: string): [string, string?] {
  const mark = url.indexOf('?')
  return mark === -1 ? [url] : [url.slice(0, mark), url.slice(mark + 1)]
}
