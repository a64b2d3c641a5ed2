// http: the application: all routes, and the answers to errors that they throw. It needs no socket; see server.ts.
import { Hono, type Context, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { METHOD_NAME_ALL, METHODS, type Result, type Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { H, RouterRoute } from 'hono/types'
import { denial } from '../model/caller.ts'
import { FluxError, unavailable, type Failure } from '../model/failure.ts'
import { quotaHeaders, takeQuota } from './request/quotas.ts'
import { failureLog } from './answers/failure-log.ts'
import { addFluxApi, type FluxApiOptions } from './api/routes.ts'
import { addDocs, addFluxSchema } from './docs/routes.ts'
import { problemFormat, wantsPage } from './formats/codecs.ts'
import { encodeXml } from './formats/xml/encode.ts'
import { authorizationOf, headerOf, type Env } from './request/incoming.ts'
import { Answers } from './answers/answers.ts'
import { addOpenApi } from './docs/openapi.ts'
import { moveStreams, type LiveOptions, type StreamMoves } from './live/routes.ts'
import { readForm, type FormLimits } from './request/form.ts'
import { isLocal, originGuard, type OriginGuard, type OriginGuardOptions } from './request/origin-guard.ts'
import { problemAnswer, problemResponse, statusOf } from './formats/problem.ts'
import { addWebhooks, type WebhookOptions } from './webhooks/webhooks.ts'

export interface About {
  readonly name: string
  readonly version: string
}

export interface AppOptions
  extends
    Omit<FluxApiOptions, 'answers' | 'stream'>,
    LiveOptions,
    Omit<WebhookOptions, 'answers' | 'refuse'>,
    OriginGuardOptions {
  /** Why requests cannot be served at present; null if they can. */
  readonly ready: () => string | null
  readonly about: About
  /** Makes the JSON Schema of .flux and .model files. */
  readonly fluxSchema: () => object
  /** Names of the services that are skipped because of faults; none if left out. */
  readonly skipped?: () => readonly string[]
  /** The pages under /inspector. */
  readonly inspector: (host: ReturnType<typeof hostOf>) => Hono
  /** Bytes that large answers under way may hold together. */
  readonly maxAnswers: number
  /** Left out: there are none. */
  readonly metrics?: MetricsOptions
}

/** Metrics are for a program on this machine where no token is required, or one with a token. */
interface MetricsOptions {
  /** All metrics, as Prometheus reads them. */
  readonly exposition: () => Promise<{ readonly contentType: string; readonly text: string }>
  /** Whether anybody may read them. */
  readonly isOpen: boolean
}

/** What the application does for pages of others. */
const hostOf = (guard: OriginGuard, stream: StreamMoves, limits: FormLimits) => ({
  ...guard,
  stream,
  statusOf,
  takeQuota,
  xmlOf: encodeXml,
  readForm: (c: Context<Env>) => readForm(c, limits),
})

/** Seconds for which a browser may cache the answer to a CORS preflight. */
const CORS_AGE_SECONDS = 600

export function createApp(options: AppOptions): Hono<Env> {
  const { origins, inspector, metrics, log, requireAuth, authenticate } = options
  const stream = moveStreams(options)
  const answers = new Answers(options.maxAnswers)
  const guard = originGuard(options)
  const parts = { ...options, answers, stream, origins: guard }
  const app = new Hono<Env>({ router: new SplitRouter() })
  if (origins.length > 0) app.use(sharing(origins, guard))
  // Health checks and webhooks answer to any host name, because load balancers and providers choose it.
  addHealth(app, options)
  addHome(app, options.about, guard)
  addFluxApi(app, parts)
  if (metrics)
    app.get('/metrics', async (c) => {
      guard.checkHost(c)
      const isFree = metrics.isOpen || (!requireAuth && isLocal(c))
      const failure = isFree ? null : denial(authenticate(authorizationOf(c)), 'read')
      if (failure) throw new FluxError(failure)
      const { contentType, text } = await metrics.exposition()
      return c.body(text, 200, { 'content-type': contentType, 'cache-control': 'no-store' })
    })
  const refuse = refusing(answers)
  addWebhooks(app, { ...parts, refuse })
  app.route('/inspector', inspector(hostOf(guard, stream, options)))
  const ownHost: MiddlewareHandler<Env> = (c, next) => {
    guard.checkHost(c)
    return next()
  }
  for (const path of ['/openapi.json', '/flux-schema.json', '/docs', '/docs/*']) app.use(path, ownHost)
  addOpenApi(app, parts)
  addFluxSchema(app, answers, options.fluxSchema)
  addDocs(app, answers)

  app.notFound((c) => {
    if (!c.req.path.startsWith('/api/')) guard.checkHost(c)
    const allow = methodsOf(app, c.req.path)
    if (allow.length === 0) return refuse(c, { kind: 'noRoute', detail: 'nothing is served at this path' })
    return refuse(c, { kind: 'wrongMethod', detail: `this path takes ${allow.join(', ')}`, allow })
  })
  app.onError((error, c) => refuse(c, failureLog(c, log)(error)))
  return app
}

/** Webhooks alone. */
export function createWebhookApp(
  options: Omit<WebhookOptions, 'answers' | 'refuse'> & Pick<AppOptions, 'maxAnswers'>,
): Hono<Env> {
  const answers = new Answers(options.maxAnswers)
  const refuse = refusing(answers)
  const app = new Hono<Env>()
  addWebhooks(app, { ...options, answers, refuse })
  app.onError((error, c) => refuse(c, failureLog(c, options.log)(error)))
  return app
}

/**
 * Hono's fast router takes no path such as `/flux-api/event` beside `/flux-api/{package}/execute`. So it has those with
 * parameters alone, and what is found for the others is remembered.
 */
class SplitRouter implements Router<[H, RouterRoute]> {
  readonly name = 'SplitRouter'
  readonly #all = new TrieRouter<[H, RouterRoute]>()
  readonly #patterns = new RegExpRouter<[H, RouterRoute]>()
  /** The routes of paths without parameters, by path and method. */
  readonly #paths = new Map<string, Map<string, Result<[H, RouterRoute]>>>()

  add(method: string, path: string, handler: [H, RouterRoute]): void {
    this.#all.add(method, path, handler)
    if (/[:*]/.test(path)) this.#patterns.add(method, path, handler)
    else this.#paths.set(path, new Map())
  }

  match(method: string, path: string): Result<[H, RouterRoute]> {
    const known = this.#paths.get(path)
    if (known === undefined) return this.#patterns.match(method, path)
    let found = known.get(method)
    if (found === undefined) known.set(method, (found = this.#all.match(method, path)))
    return found
  }
}

/** The application until the real one is ready: it answers `/healthz`, and everything else with 503. */
export function createWaitingApp(reason: string): Hono<Env> {
  const app = new Hono<Env>()
  addHealth(app, { ready: () => reason })
  app.all('*', (c) => problemResponse(unavailable(reason).failure, factsOf(c)))
  return app
}

const NOT_KEPT = { 'cache-control': 'no-cache', vary: 'Accept' }

/** Browsers are led to the pages of the inspector, other clients get links as JSON. */
function addHome(app: Hono<Env>, { name, version }: About, origins: OriginGuard): void {
  const links = {
    inspector: '/inspector',
    docs: '/docs',
    openapi: '/openapi.json',
    schema: '/flux-api/schema.xsd',
    fluxSchema: '/flux-schema.json',
    health: '/healthz',
    ready: '/readyz',
  }
  app.get('/', (c) => {
    origins.checkHost(c)
    if (wantsPage(headerOf(c, 'accept'))) return c.body(null, 302, { location: '/inspector', ...NOT_KEPT })
    return c.json({ name, version, links }, 200, NOT_KEPT)
  })
}

function addHealth(
  app: Hono<Env>,
  { ready, skipped, isPaused }: Pick<AppOptions, 'ready' | 'skipped' | 'isPaused'>,
): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', (c) => {
    const reason = ready()
    // JSON whatever Accept says: an unusual header of a load balancer must not take a server out of service.
    if (reason !== null) return problemResponse(unavailable(reason).failure, { instance: instanceOf(c) })
    const without = skipped?.() ?? []
    const paused = isPaused?.() === true && { paused: true }
    return c.json({ status: 'ready', ...paused, ...(without.length > 0 && { skipped: without }) })
  })
}

/**
 * CORS. A webhook accepts any headers, because they may be its inputs, and CORS headers of its own answers are kept.
 */
function sharing(origins: readonly string[], guard: OriginGuard): MiddlewareHandler<Env> {
  const options = {
    origin: origins.includes('*') ? '*' : [...origins],
    allowMethods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
    exposeHeaders: [
      'etag',
      'idempotency-replayed',
      'link',
      'location',
      'preference-applied',
      'ratelimit',
      'ratelimit-policy',
      'retry-after',
      'www-authenticate',
    ],
    maxAge: CORS_AGE_SECONDS,
  }
  const calls = cors({
    ...options,
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'if-match', 'last-event-id', 'prefer'],
  })
  const webhooks = cors(options)
  return async (c, next) => {
    const isWebhook = c.req.path.startsWith('/api/')
    const isPreflight = c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined
    if (c.req.method === 'OPTIONS' && !isPreflight) return next()
    // The preflight of a call that would be refused is refused, too.
    if (isPreflight && !isWebhook) guard.checkHost(c)
    if (isPreflight || !isWebhook) return (isWebhook ? webhooks : calls)(c, next)
    await next()
    if (c.res.headers.has('access-control-allow-origin')) return
    const own = c.res.headers.get('access-control-expose-headers')
    await webhooks(c, async () => undefined)
    if (own !== null) c.res.headers.set('access-control-expose-headers', own)
  }
}

/**
 * The methods that a path has. The router is asked only when no route matched, so this costs other requests nothing.
 * Routes for all methods, which are middleware, do not count.
 */
function methodsOf(app: Hono<Env>, path: string): string[] {
  const methods = METHODS.map((method) => method.toUpperCase()).filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method !== METHOD_NAME_ALL),
  )
  return methods.includes('GET') ? ['HEAD', ...methods] : methods
}

/** Answers with a problem, in the format that the Accept header asks for, else in the default format. */
const refusing =
  (answers: Answers) =>
  (c: Context<Env>, failure: Failure): Response => {
    const { status, headers, body } = problemAnswer(failure, factsOf(c))
    try {
      // It may have a context, which may be large.
      return answers.text(c, body, { status, headers })
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      return problemResponse(error.failure, factsOf(c))
    }
  }

const factsOf = (c: Context<Env>) => ({
  instance: instanceOf(c),
  format: problemFormat(headerOf(c, 'accept')),
  headers: quotaHeaders(c) ?? (c.get('replayed') ? { 'idempotency-replayed': 'true' } : null),
})

/**
 * The path as it was sent, with its escapes, as a URI reference (RFC 3986, 4.2), and without the query, which may be
 * confidential. Undefined for a path that begins with two slashes, since a URI reference would take what follows for a
 * host.
 */
function instanceOf(c: Context<Env>): string | undefined {
  const path = new URL(c.req.url).pathname
  return path.startsWith('//') ? undefined : path.replaceAll(/%(?![\dA-Fa-f]{2})|[[\]^|\\]/g, encodeURIComponent)
}
