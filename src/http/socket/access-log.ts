// http: what the log tells of requests: method, path, query, status and duration, and no secret.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { redactQuery } from '../../model/secret-names.ts'
import type { Log } from '../../ports/log.ts'
import type { Env } from '../request/incoming.ts'

/** Paths that hold a secret, as they may be told. */
const shownPaths = new WeakMap<object, string>()

/** From now on the log tells another path for this request. */
export function shownPath(c: Context<Env>, path: string): void {
  shownPaths.set(requestOf(c), path)
}

/** The path for the log, without the query. */
export const pathShown = (c: Context<Env>): string => shownPaths.get(requestOf(c)) ?? c.req.path

/** Without a socket, in tests, there is only the one of the web API. */
const requestOf = (c: Context<Env>): object => c.env?.incoming ?? c.req.raw

/** Logs the request when its answer is out, or its client is gone. `duration`: milliseconds. */
export function logAccess(log: Log, request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now()
  response.once('close', () => {
    const [path = '', query] = splitUrl(request.url ?? '')
    log.info('request', {
      method: request.method,
      path: shownPaths.get(request) ?? path,
      ...(query !== undefined && { query: redactQuery(query) }),
      // A client that hangs up hears nothing, whatever it was to be told.
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
