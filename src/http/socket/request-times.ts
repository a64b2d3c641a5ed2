// http: measures requests by the templates of their routes, from their headers to the end of their answers.
import type { ServerResponse } from 'node:http'
import type { Context, Hono } from 'hono'
import { METHOD_NAME_ALL } from 'hono/router'
import type { Endpoint } from '../../model/webhook.ts'
import type { RequestSignals } from '../../ports/signals.ts'
import { socketed, type Env } from '../request/incoming.ts'
import { isDisguised, WEBHOOKS } from '../request/paths.ts'
import { TimedResponse } from './response.ts'

/** The template of the route of a request, null: there is none. `url`: as the request line has it. */
export type RouteOf = (method: string, url: string) => string | null

/** Looks the route up again when a request has ended, which costs less than to note it on the way. */
export function routeFinder(app: Hono<Env>): RouteOf {
  /** By the route as the router has it. */
  const templates = new Map<string, string>()
  return (method, url) => {
    const mark = url.indexOf('?')
    const path = mark === -1 ? url : url.slice(0, mark)
    if (isDisguised(path)) return null
    const [handlers] = app.router.match(method === 'HEAD' ? 'GET' : method, path)
    for (const [[, route]] of handlers) {
      // Of all methods is what comes before a route.
      if (route.method === METHOD_NAME_ALL) continue
      const known = templates.get(route.path) ?? templateOf(route.path)
      templates.set(route.path, known)
      return known
    }
    return null
  }
}

/** Parameters as the API's description has them: `/flux-api/{package}/execute`. */
const templateOf = (route: string): string => route.replaceAll(/:(\w+)/g, '{$1}')

const endpointRoutes = new WeakMap<Endpoint, string>()

/** Notes that the request is one to that webhook: the router knows only that it is one to any. */
export function noteEndpoint(c: Context<Env>, endpoint: Endpoint): void {
  if (!socketed(c) || !(c.env.outgoing instanceof TimedResponse)) return
  const route = endpointRoutes.get(endpoint) ?? WEBHOOKS + endpoint.urlPath
  endpointRoutes.set(endpoint, route)
  c.env.outgoing.route = route
}

/** A listener for `close` of responses. It is one for all of them, so that a request needs no closure. */
export function requestTimer(signals: RequestSignals, routeOf: RouteOf): (this: ServerResponse) => void {
  return function () {
    if (!(this instanceof TimedResponse)) return
    const { method = '', url = '' } = this.req
    const status = this.writableFinished ? this.statusCode : null
    signals.request(this.route ?? routeOf(method, url), method, status, performance.now() - this.began)
  }
}
