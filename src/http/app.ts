// http: the application: routes, and what becomes of whatever they throw. Needs no socket; see server.ts.
import { Hono, type Context } from 'hono'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { METHOD_NAME_ALL, METHODS } from 'hono/router'
import { FluxError, unavailable, type Failure } from '../model/failure.ts'
import { addFluxApi, type FluxApiOptions } from './flux-api.ts'
import { FORMATS } from './formats.ts'
import { headerOf, type Env } from './incoming.ts'
import { negotiate } from './negotiate.ts'
import { addOpenApi } from './openapi.ts'
import { problemResponse } from './problem.ts'
import { addWebhooks, type WebhookOptions } from './webhooks.ts'

export interface AppOptions extends FluxApiOptions, WebhookOptions {
  /** null when requests can be served, else why not. */
  readonly ready: () => string | null
  /** Origins whose pages may call; `*` means any. */
  readonly origins: readonly string[]
}

/** Seconds for which a browser may remember what a page may do. */
const CORS_AGE = 600

export function createApp({ ready, origins, ...options }: AppOptions): Hono<Env> {
  const { log } = options
  const app = new Hono<Env>()
  if (origins.length > 0) {
    app.use(cors({
      origin: origins.includes('*') ? '*' : [...origins],
      allowMethods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
      allowHeaders: ['authorization', 'content-type'],
      exposeHeaders: ['link', 'location', 'retry-after', 'www-authenticate'],
      maxAge: CORS_AGE,
    }))
  }
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', (c) => {
    const reason = ready()
    // JSON whatever Accept says: a balancer's odd header must not take a server out.
    if (reason !== null) return problemResponse(unavailable(reason).failure, { instance: instanceOf(c) })
    return c.json({ status: 'ready' })
  })
  addFluxApi(app, options)
  addWebhooks(app, options)
  addOpenApi(app, options)

  app.notFound((c) => {
    const allow = methodsOf(app, c.req.path)
    if (allow.length === 0) return refuse(c, { kind: 'noRoute', detail: 'nothing is served at this path' })
    return refuse(c, { kind: 'wrongMethod', detail: `this path takes ${allow.join(', ')}`, allow })
  })
  app.onError((error, c) => {
    if (error instanceof FluxError && error.cause !== undefined) log.error('a request was refused', { method: c.req.method, path: c.req.path, error })
    if (error instanceof FluxError) return refuse(c, error.failure)
    if (error instanceof HTTPException) return error.getResponse()
    log.error('a request failed', { method: c.req.method, path: c.req.path, error })
    return refuse(c, { kind: 'internal', detail: 'the reason is in the log of the server' })
  })
  return app
}

/** Asked of the router only when nothing matched, so that no route pays for it. What stands before all routes is none. */
function methodsOf(app: Hono<Env>, path: string): string[] {
  const methods = METHODS.map((method) => method.toUpperCase()).filter((method) => app.router.match(method, path)[0].some(([[, route]]) => route.method !== METHOD_NAME_ALL))
  return methods.includes('GET') ? ['HEAD', ...methods] : methods
}

/** In the format that the client would have had the answer in, or in the usual one. */
const refuse = (c: Context<Env>, failure: Failure): Response =>
  problemResponse(failure, { instance: instanceOf(c), format: negotiate(headerOf(c, 'accept'), FORMATS) ?? undefined })

/** The path as it was sent, escapes and all, without the query: there may be something private in that. */
const instanceOf = (c: Context<Env>): string => new URL(c.req.url).pathname
