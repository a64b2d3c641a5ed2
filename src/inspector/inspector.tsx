// inspector: the pages. Each is made on the server from calls of the visitor; forms change things by POST, which needs the
// token of the form, and answer with 303.
import { Hono, type Context } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { denial } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'
import { addAssets } from './assets.ts'
import { Drawings } from './diagram/drawing.ts'
import type { InspectorOptions, PageHost } from './host.ts'
import { addContextPage } from './routes/context.tsx'
import { addContextsPages } from './routes/contexts.tsx'
import { addDeliveriesPages } from './routes/deliveries.tsx'
import { addHealthPage } from './routes/health.tsx'
import { addServicePages } from './routes/services.tsx'
import { ManyRuns } from './many-runs.ts'
import { LogInPage, ProblemPage } from './pages/problem.tsx'
import { documentOf, Pages } from './routes/pages.ts'
import { Sessions } from './sessions.ts'
import type { Visitor } from './visitor.ts'

/** Of the pages, under /inspector. */
export function createInspector(options: InspectorOptions, host: PageHost): Hono {
  const app = new Hono()
  const sessions = new Sessions(options)
  const pages = new Pages({ options, host, sessions, drawings: new Drawings(), runs: new ManyRuns(options.log) })
  app.use(
    '*',
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
      xFrameOptions: 'DENY',
      referrerPolicy: 'same-origin',
      // Whoever adds TLS in front of this server decides about this header.
      strictTransportSecurity: false,
    }),
  )
  app.use('*', async (c, next) => {
    host.checkHost(c)
    await next()
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
  })
  addAssets(app)
  addLogIn(app, pages, sessions)
  addServicePages(app, pages)
  addContextsPages(app, pages)
  addContextPage(app, pages)
  addDeliveriesPages(app, pages)
  addHealthPage(app, pages, options)
  app.get('/stream', (c) => host.stream(c, () => denial(pages.caller(c), 'read') === null))
  app.all('*', () => {
    throw new FluxError({ kind: 'noRoute', detail: 'There is no such page.' })
  })
  app.onError((error, c) => problem(c, pages, error))
  return app
}

function addLogIn(app: Hono, pages: Pages, sessions: Sessions): void {
  app.get('/login', (c) => logIn(c, pages.stranger(c), { next: c.req.query('next') ?? '', detail: null, status: 200 }))
  app.post('/login', async (c) => {
    const form = await pages.form(c)
    const next = form.get('next')?.[0] ?? ''
    try {
      sessions.logIn(c, form.get('token')?.[0] ?? '')
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      const status = pages.statusOf(error.failure)
      return logIn(c, pages.stranger(c), { next, detail: error.failure.detail, status })
    }
    return c.redirect(localPath(next), 303)
  })
  app.post('/logout', async (c) => {
    await pages.form(c)
    sessions.logOut(c)
    return c.redirect('/inspector', 303)
  })
}

/** Only pages of the inspector. */
const localPath = (path: string): string =>
  /^\/inspector(?:[/?]|$)/.test(path) && !path.includes('\\') ? path : '/inspector'

interface LogIn {
  readonly next: string
  readonly detail: string | null
  readonly status: number
}

const logIn = (c: Context, visitor: Visitor, { next, detail, status }: LogIn): Response =>
  documentOf(c, <LogInPage visitor={visitor} next={next} detail={detail} />, status)

/** Whoever has no token, or one that is not valid any more, is asked for one. */
function problem(c: Context, pages: Pages, error: Error): Response {
  const visitor = pages.stranger(c)
  if (!(error instanceof FluxError)) {
    pages.log.error('a page of the inspector failed', { path: c.req.path, error })
    const detail = 'The reason is in the log of the server.'
    return documentOf(c, <ProblemPage visitor={visitor} title="The server failed" detail={detail} />, 500)
  }
  const { failure } = error
  const status = pages.statusOf(failure)
  if ('retryAfter' in failure && failure.retryAfter !== undefined) c.header('retry-after', String(failure.retryAfter))
  if (failure.kind === 'unauthorized') {
    const { pathname, search } = new URL(c.req.url)
    const detail = failure.token === 'none' ? null : failure.detail
    return logIn(c, visitor, { next: c.req.method === 'GET' ? pathname + search : '/inspector', detail, status })
  }
  return documentOf(c, <ProblemPage visitor={visitor} title={titleOf(status)} detail={failure.detail} />, status)
}

const titleOf = (status: number): string => (status === 404 ? 'Not found' : `Refused (${status})`)
