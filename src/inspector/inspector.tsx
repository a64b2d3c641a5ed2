// inspector: the pages. Each is made on the server from calls of its viewer; forms change things by POST.
//
// - Pages are made on the server with Hono's JSX, which escapes all data. There is no build step, no state in the
//   browser, and no script but `assets/live.js` and idiomorph.
// - A file of `pages/` has a page with its routes (`routes.tsx`). It calls the API with the rights of its viewer
//   (`sessions.ts`), so nothing is shown that the API would not show. The application around gives what the pages need
//   (`host.ts`): checks of origin and host, forms, and the stream.
// - Forms change things by POST. They need the token of a `SameSite=Strict` cookie, answer with 303, and are shown
//   again with what was typed when they are refused. `forms/controls.ts` makes fields of JSON Schemas; texts are
//   coerced by the server as untyped ones.
// - A page is live by its parts (`data-part`): a move in the stream makes the script load the page again, at most once
//   a second and not while the tab is hidden, and replace the parts that differ. A part that is being typed in, and a
//   list under the pointer, stays as it is.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Hono, type Context } from 'hono'
import { etag } from 'hono/etag'
import { secureHeaders } from 'hono/secure-headers'
import { FluxError, type Failure } from '../model/failure.ts'
import type { InspectorOptions, PageHost } from './host.ts'
import { addBulkPage } from './pages/bulk.tsx'
import { addContextPage } from './pages/context/context.tsx'
import { addContextsPages } from './pages/contexts.tsx'
import { addDeliveriesPage } from './pages/deliveries.tsx'
import { addHealthPage } from './pages/health.tsx'
import { addOperationPages } from './pages/operations.tsx'
import { LogInPage, ProblemPage } from './pages/problem.tsx'
import { addServicePage } from './pages/service.tsx'
import { addServicesPage } from './pages/services.tsx'
import { addWakeUpsPage } from './pages/wake-ups.tsx'
import { documentOf, PageRoutes } from './routes.tsx'
import { Sessions } from './sessions.ts'

const require = createRequire(import.meta.url)
const OWN = join(import.meta.dirname, 'assets')

const ASSETS = [
  { name: 'style.css', type: 'text/css', file: join(OWN, 'style.css') },
  { name: 'live.js', type: 'text/javascript', file: join(OWN, 'live.js') },
  { name: 'idiomorph.js', type: 'text/javascript', file: require.resolve('idiomorph/dist/idiomorph.min.js') },
]

/** The application of the pages, under /inspector. */
export function createInspector(options: InspectorOptions, host: PageHost): Hono {
  const app = new Hono()
  const sessions = new Sessions(options)
  const pages = new PageRoutes(app, options, host, sessions)
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
      // A proxy that adds TLS decides about this header.
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
  addLogIn(app, pages, sessions)
  for (const add of [
    addServicesPage,
    addServicePage,
    addContextsPages,
    addBulkPage,
    addOperationPages,
    addContextPage,
    addWakeUpsPage,
    addDeliveriesPage,
    addHealthPage,
  ])
    add(pages)
  app.get('/stream', (c) => host.stream(c, () => pages.caller(c)))
  app.all('*', () => {
    throw new FluxError({ kind: 'noRoute', detail: 'There is no such page.' })
  })
  app.onError((error, c) => problem(c, pages, error))
  return app
}

/** Browsers ask for them again, and get them only if they have changed. */
function addAssets(app: Hono): void {
  for (const { name, type, file } of ASSETS)
    app.get(`/assets/${name}`, etag(), async (c) =>
      c.body(await readFile(file, 'utf8'), 200, {
        'content-type': `${type}; charset=utf-8`,
        'cache-control': 'no-cache',
      }),
    )
}

function addLogIn(app: Hono, pages: PageRoutes, sessions: Sessions): void {
  app.get('/login', (c) => logIn(c, pages, { next: c.req.query('next') ?? '' }))
  app.post('/login', async (c) => {
    const form = await pages.form(c)
    const next = form.get('next')?.[0] ?? ''
    try {
      sessions.logIn(c, form.get('token')?.[0] ?? '')
    } catch (error) {
      if (!(error instanceof FluxError)) throw error
      return logIn(c, pages, { next, detail: error.failure.detail, status: refuse(c, pages, error.failure) })
    }
    return c.redirect(localPath(next), 303)
  })
  app.post('/logout', async (c) => {
    await pages.form(c)
    sessions.logOut(c)
    return c.redirect('/inspector', 303)
  })
}

/** An origin of no server: what resolves to it has no host of its own. */
const NOWHERE = 'http://inspector.invalid'

/** Only pages of the inspector, as a browser understands the address. */
function localPath(path: string): string {
  const url = URL.canParse(path, NOWHERE) ? new URL(path, NOWHERE) : null
  const isOwn = url?.origin === NOWHERE && /^\/inspector(?:\/|$)/.test(url.pathname)
  return isOwn ? url.pathname + url.search : '/inspector'
}

const logIn = (
  c: Context,
  pages: PageRoutes,
  { status = 200, ...asked }: Parameters<typeof LogInPage>[0] & { readonly status?: number },
): Response => documentOf(c, pages.anonymousViewer(c), <LogInPage {...asked} />, status)

/** A viewer without a token, or with one that is not valid any more, is asked for one. */
function problem(c: Context, pages: PageRoutes, error: Error): Response {
  const show = (title: string, detail: string, status: number) =>
    documentOf(c, pages.anonymousViewer(c), <ProblemPage title={title} detail={detail} />, status)
  if (!(error instanceof FluxError)) {
    pages.options.log.error('a page of the inspector failed', { path: c.req.path, error })
    return show('The server failed', 'The reason is in the log of the server.', 500)
  }
  const { failure } = error
  const status = refuse(c, pages, failure)
  if (failure.kind !== 'unauthorized')
    return show(status === 404 ? 'Not found' : `Refused (${status})`, failure.detail, status)
  const { pathname, search } = new URL(c.req.url)
  const next = c.req.method === 'GET' ? pathname + search : '/inspector'
  return logIn(c, pages, { next, status, ...(failure.token === 'invalid' && { detail: failure.detail }) })
}

/** The status. Headers tell programs how to come in, or when to come again. */
function refuse(c: Context, { host }: PageRoutes, failure: Failure): number {
  if (failure.kind === 'unauthorized') c.header('www-authenticate', 'Bearer')
  if ('retryAfter' in failure) c.header('retry-after', String(Math.max(1, Math.ceil(failure.retryAfter))))
  return host.statusOf(failure)
}
