// http: what is told of each request when its answer has ended: to the metrics, to the log, and to the trace that it
// belongs to, without secrets.
//
// - Calls and webhooks note their route; that of any other request is looked up again then.
import type { ServerResponse } from 'node:http'
import type { Context, Hono } from 'hono'
import { METHOD_NAME_ALL } from 'hono/router'
import { redactQuery } from '../../model/secret-names.ts'
import type { Log } from '../../ports/log.ts'
import type { RequestSignals } from '../../ports/signals.ts'
import { socketed, type Env } from '../request/incoming.ts'
import { TimedResponse } from './response.ts'

/** Notes the template of the route of a request. */
export function noteRoute({ env }: Context<Env>, route: string): void {
  if (env?.outgoing instanceof TimedResponse) env.outgoing.route = route
}

/** The template of the route of a request, null: there is none. `url`: as the request line has it. */
export type RouteOf = (method: string, url: string) => string | null

/** The template of a path of the router. Parameters are as in the API's description: `/flux-api/{package}/execute`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

export const routeFinder =
  ({ router }: Hono<Env>): RouteOf =>
  (method, url) => {
    const mark = url.indexOf('?')
    const [handlers] = router.match(method === 'HEAD' ? 'GET' : method, mark === -1 ? url : url.slice(0, mark))
    // Handlers for all methods come before a route.
    const found = handlers.find(([[, route]]) => route.method !== METHOD_NAME_ALL)
    return found === undefined ? null : templateOf(found[0][1].path)
  }

export interface Observers {
  readonly routeOf: RouteOf
  readonly signals: RequestSignals | undefined
  /** Left out: requests are not logged. */
  readonly accessLog: Log | null
}

/** A listener for `close` of responses. It is one for all of them, so that a request needs no closure. */
export const requestEnded = ({ routeOf, signals, accessLog }: Observers): ((this: ServerResponse) => void) =>
  function () {
    if (!(this instanceof TimedResponse)) return
    const { method = '', url = '' } = this.req
    const route = this.route ?? routeOf(method, url)
    const milliseconds = performance.now() - this.began
    // null if the client left before an answer was sent.
    const status = this.headersSent ? this.statusCode : null
    signals?.request(route, method, this.writableFinished ? status : null, milliseconds)
    this.span?.end(route, status)
    if (accessLog === null) return
    const [path, query] = url.split('?', 2)
    accessLog.info('request', {
      method,
      path: this.shownPath ?? path,
      ...(query !== undefined && { query: redactQuery(query) }),
      status,
      ...(!this.writableFinished && { aborted: true }),
      duration: Math.round(milliseconds * 10) / 10,
    })
  }

/** The path for logs, without the query. */
export const pathShown = (c: Context<Env>): string => c.get('shownPath') ?? c.req.path

/** The header `traceparent` (W3C Trace Context), in the form of version 00. Later versions may have more after it. */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}(-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(?=$|-)/

/** The header in the form of version 00; undefined: there is none, or it is malformed. */
export function traceparentOf(header: unknown): string | undefined {
  const ids = typeof header === 'string' ? TRACEPARENT.exec(header)?.[1] : undefined
  return ids && `00${ids}`
}

/**
 * The `traceparent` of what the request leads to: its span, or that of its client; undefined: it belongs to no trace.
 */
export function traceOf(c: Context<Env>): string | undefined {
  if (!socketed(c)) return traceparentOf(c.req.raw.headers.get('traceparent'))
  const { incoming, outgoing } = c.env
  const span = outgoing instanceof TimedResponse ? outgoing.span : null
  return span?.traceparent ?? traceparentOf(incoming.headers['traceparent'])
}
