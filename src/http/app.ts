// http: the application: routes, and what becomes of whatever they throw. Needs no socket; see server.ts.
import { Hono, type Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { METHODS } from 'hono/router'
import { FluxError, unavailable } from '../model/failure.ts'
import type { Log } from '../ports/log.ts'
import { addFluxApi, type FluxApiOptions } from './flux-api.ts'
import type { Env } from './incoming.ts'
import { HttpError, problemResponse } from './problem.ts'

export interface AppOptions extends FluxApiOptions {
  /** null when requests can be served, else why not. */
  readonly ready: () => string | null
  readonly log: Log
}

export function createApp({ ready, log, ...options }: AppOptions): Hono<Env> {
  const app = new Hono<Env>()
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', (c) => {
    const reason = ready()
    if (reason !== null) throw unavailable(reason)
    return c.json({ status: 'ready' })
  })
  addFluxApi(app, options)

  app.notFound((c) => {
    const allow = methodsOf(app, c.req.path)
    if (allow.length === 0) return problemResponse({ kind: 'noRoute', detail: 'nothing is served at this path' }, instanceOf(c))
    return problemResponse({ kind: 'wrongMethod', detail: `this path takes ${allow.join(', ')}`, allow }, instanceOf(c))
  })
  app.onError((error, c) => {
    if (error instanceof FluxError && error.cause !== undefined) log.error('a request was refused', { method: c.req.method, path: c.req.path, error })
    if (error instanceof FluxError || error instanceof HttpError) return problemResponse(error.failure, instanceOf(c))
    if (error instanceof HTTPException) return error.getResponse()
    log.error('a request failed', { method: c.req.method, path: c.req.path, error })
    return problemResponse({ kind: 'internal', detail: 'the reason is in the log of the server' }, instanceOf(c))
  })
  return app
}

/** Asked of the router only when nothing matched, so that no route pays for it. */
function methodsOf(app: Hono<Env>, path: string): string[] {
  const methods = METHODS.map((method) => method.toUpperCase()).filter((method) => app.router.match(method, path)[0].length > 0)
  return methods.includes('GET') ? ['HEAD', ...methods] : methods
}

/** The path as it was sent, escapes and all, without the query: there may be something private in that. */
const instanceOf = (c: Context<Env>): string => new URL(c.req.url).pathname
