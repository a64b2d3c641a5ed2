// inspector: the pages. Each is made on the server from calls of the visitor; forms change things by POST, which needs the
// token of the form, and answer with 303.
//
// - Pages are made on the server with Hono's JSX, which escapes all data. There is no build step, no state in the
//   browser, and no script but `assets/live.js` and idiomorph.
// - `routes/` call the API with the rights of the visitor (`sessions.ts`), so nothing is shown that
//   the API would not show. The application around gives what they need (`host.ts`): checks of origin and host, forms,
//   and the stream.
// - Forms change things by POST. They need the token of a `SameSite=Strict` cookie, answer with 303, and are shown
//   again with what was typed when they are refused. `forms/controls.ts` makes fields of JSON Schemas; texts are
//   coerced by the server as untyped ones.
// - A page is live by its parts (`data-part`): a move in the stream makes the script load the page again, at most once
//   a second and not while the tab is hidden, and replace the parts that differ. A part that is being typed in, and a
//   list under the pointer, stays as it is.
import { Hono, type Context } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { FluxError, type Failure } from '../model/failure.ts'
import { addAssets } from './assets.ts'
import { Drawings } from './diagram/drawing.ts'
import type { InspectorOptions, PageHost } from './host.ts'
import { addContextPage } from './routes/context.tsx'
import { addContextsPages } from './routes/contexts.tsx'
import { addDeliveriesPages } from './routes/deliveries.tsx'
import { addHealthPage } from './routes/health.tsx'
import { addManyPages } from './routes/many.tsx'
import { addServicePages } from './routes/services.tsx'
import { LogInPage, ProblemPage } from './pages/problem.tsx'
import { documentOf, Pages } from './routes/pages.ts'
import { Sessions } from './sessions.ts'
import type { Visitor } from './visitor.ts'

/** Of the pages, under /inspector. */
export function createInspector(options: InspectorOptions, host: PageHost): Hono {
  const app = new Hono()
  const sessions = new Sessions(options)
  const pages = new Pages({ options, host, sessions, drawings: new Drawings() })
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
    if (c.req.path === '/inspector/') return c.redirect('/inspector', 302)
    await next()
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
    return undefined
  })
  addAssets(app)
  addLogIn(app, { pages, sessions })
  addServicePages(app, pages)
  addContextsPages(app, pages)
  addManyPages(app, pages)
  addContextPage(app, pages)
  addDeliveriesPages(app, pages)
  addHealthPage(app, pages, options)
  app.get('/stream', (c) => host.stream(c, () => pages.caller(c)))
  app.all('*', () => {
    throw new FluxError({ kind: 'noRoute', detail: 'There is no such page.' })
  })
  app.onError((error, c) => problem(c, pages, error))
  return app
}

interface LogInParts {
  readonly pages: Pages
  readonly sessions: Sessions
}

function addLogIn(app: Hono, { pages, sessions }: LogInParts): void {
  app.get('/login', (c) => logIn(c, pages.stranger(c), { next: c.req.query('next') ?? '', detail: null, status: 200 }))
  app.post('/login', async (c) => {
    const form = await pages.form(c)
    const next = form.get('next')?.[0] ?? ''
    try {
      sessions.logIn(c, form.get('token')?.[0] ?? '')
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      tellHow(c, error.failure)
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

/** Of no server: whatever resolves to it has no host of its own. */
const NOWHERE = 'http://inspector.invalid'

/** Only pages of the inspector, as a browser understands the address. */
function localPath(path: string): string {
  const url = URL.canParse(path, NOWHERE) ? new URL(path, NOWHERE) : null
  const isOwn = url?.origin === NOWHERE && /^\/inspector(?:\/|$)/.test(url.pathname)
  return isOwn ? url.pathname + url.search : '/inspector'
}

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
  tellHow(c, failure)
  if (failure.kind === 'unauthorized') {
    const { pathname, search } = new URL(c.req.url)
    const detail = failure.token === 'none' ? null : failure.detail
    return logIn(c, visitor, { next: c.req.method === 'GET' ? pathname + search : '/inspector', detail, status })
  }
  return documentOf(c, <ProblemPage visitor={visitor} title={titleOf(status)} detail={failure.detail} />, status)
}

/** For programs: how to come in, or when to come again. */
function tellHow(c: Context, failure: Failure): void {
  if (failure.kind === 'unauthorized') c.header('www-authenticate', 'Bearer')
  if ('retryAfter' in failure) c.header('retry-after', String(Math.max(1, Math.ceil(failure.retryAfter))))
}

const titleOf = (status: number): string => (status === 404 ? 'Not found' : `Refused (${status})`)
