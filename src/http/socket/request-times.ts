// http: measures requests by the templates of their routes, from their headers to the end of their answers.
//
// - The route of a request is looked up again when its answer has ended (`http/socket/request-times.ts`), so that
//   handlers need not note it; only webhooks note their endpoint.
import type { ServerResponse } from 'node:http'
import type { Hono } from 'hono'
import { METHOD_NAME_ALL } from 'hono/router'
import type { RequestSignals } from '../../ports/signals.ts'
import type { Env } from '../request/incoming.ts'
import { TimedResponse } from './response.ts'

/** The template of the route of a request, null: there is none. `url`: as the request line has it. */
export type RouteOf = (method: string, url: string) => string | null

/** Looks the route up again when a request has ended, which costs less than to note it on the way. */
export function routeFinder(app: Hono<Env>): RouteOf {
  /** By method and path, of routes without parameters: the router takes longer to tell them. */
  const plain = new Map<string, Map<string, string>>()
  return (method, url) => {
    const mark = url.indexOf('?')
    const path = mark === -1 ? url : url.slice(0, mark)
    const known = plain.get(method)
    const route = known?.get(path)
    if (route !== undefined) return route
    const found = routeOf(app, method, path)
    if (found !== path) return found === null ? null : templateOf(found)
    if (known) known.set(path, found)
    else plain.set(method, new Map([[path, found]]))
    return found
  }
}

/** The route as the router has it. */
function routeOf({ router }: Hono<Env>, method: string, path: string): string | null {
  const [handlers] = router.match(method === 'HEAD' ? 'GET' : method, path)
  // Of all methods is what comes before a route.
  const found = handlers.find(([[, route]]) => route.method !== METHOD_NAME_ALL)
  return found === undefined ? null : found[0][1].path
}

/** Parameters as the API's description has them: `/flux-api/{package}/execute`. */
const templateOf = (route: string): string => route.replaceAll(/:(\w+)/g, '{$1}')

/** A listener for `close` of responses. It is one for all of them, so that a request needs no closure. */
export function requestTimer(signals: RequestSignals, routeOf: RouteOf): (this: ServerResponse) => void {
  return function () {
    if (!(this instanceof TimedResponse)) return
    const { method = '', url = '' } = this.req
    const status = this.writableFinished ? this.statusCode : null
    signals.request(this.route ?? routeOf(method, url), method, status, performance.now() - this.began)
  }
}
