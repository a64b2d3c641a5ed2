// api: how each call travels over HTTP, as clients need it.
import type { Call } from './call.ts'
import { CALLS, CLIENT_METHODS } from './calls.ts'
import { EXECUTES, SEND_EVENTS, STREAM_MOVES } from './streams.ts'

export interface Route {
  readonly method: Call['method']
  /** A part that begins with `:` is a field. */
  readonly path: string
  /** Whether the fields go into a body, save those in the path and in `query`; else they go into the query. */
  readonly body?: true
  /** With a body: fields that still go into the query. */
  readonly query?: readonly string[]
  /** Whether it takes the header `Idempotency-Key`. */
  readonly key?: true
}

function routeOf({ method, route, query, body, takesKey }: Call): Route {
  const inQuery = Object.keys(query).filter((name) => body !== null && !Object.hasOwn(body, name))
  return {
    method,
    path: route,
    ...(body !== null && { body: true }),
    ...(inQuery.length > 0 && { query: inQuery }),
    ...(takesKey && { key: true }),
  }
}

const entries: unknown[][] = Object.entries<Call>(CLIENT_METHODS).map(([name, call]) => [name, routeOf(call)])
/** The routes of the methods of clients. */
export const ROUTES: { readonly [name in keyof typeof CLIENT_METHODS]: Route } = Object.fromEntries(entries)

/** The routes of what is no method like the others. */
export const OTHER_ROUTES = {
  resumeServer: routeOf(CALLS.resumeServer),
  stream: routeOf(STREAM_MOVES),
  sendEvents: { method: 'POST', path: SEND_EVENTS.route, body: true },
  executeMany: { method: 'POST', path: EXECUTES.route, body: true },
} satisfies { readonly [name: string]: Route }
