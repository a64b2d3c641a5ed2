// http: the trace that a request belongs to: that of its client, or the span of the request itself.
import type { Context, Hono } from 'hono'
import type { Traces } from '../../ports/signals.ts'
import { TimedResponse } from './response.ts'
import { socketed, type Env } from '../request/incoming.ts'

/** The header `traceparent` (W3C Trace Context), in the form of version 00. Later versions may have more after it. */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}(-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(?=$|-)/

/** The header in the form of version 00; undefined: there is none, or it is malformed. */
export function traceparentOf(header: unknown): string | undefined {
  const ids = typeof header === 'string' ? TRACEPARENT.exec(header)?.[1] : undefined
  return ids && `00${ids}`
}

/** Of requests that have a span. */
const spans = new WeakMap<object, string>()

/** The `traceparent` of what the request leads to; undefined: it belongs to no trace. */
export function traceOf(c: Context<Env>): string | undefined {
  if (!socketed(c)) return traceparentOf(c.req.raw.headers.get('traceparent'))
  const { incoming } = c.env
  return spans.get(incoming) ?? traceparentOf(incoming.headers['traceparent'])
}

/** The application with a span for each request, until the end of its answer. `routeOf`: the template of a route; null: there is none. */
export function tracedFetch(
  { fetch }: Pick<Hono<Env>, 'fetch'>,
  traces: Traces,
  routeOf: (method: string, url: string) => string | null,
): Hono<Env>['fetch'] {
  return (request, env) => {
    if (env === undefined || !('incoming' in env)) return fetch(request, env)
    const { incoming, outgoing } = env
    const { method } = request
    const span = traces.request(method, traceparentOf(incoming.headers['traceparent']))
    spans.set(incoming, span.traceparent)
    // Some answers are written without a response of the application.
    outgoing.once('close', () => {
      const own = outgoing instanceof TimedResponse ? outgoing.route : null
      span.end(own ?? routeOf(method, incoming.url ?? ''), outgoing.headersSent ? outgoing.statusCode : null)
    })
    return span.run(() => fetch(request, env))
  }
}
