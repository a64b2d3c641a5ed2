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
import { Hono } from 'hono'
import { etag } from 'hono/etag'
import { secureHeaders } from 'hono/secure-headers'
import { FluxError } from '../model/failure.ts'
import type { InspectorOptions } from './host.ts'
import { addLogIn, problem } from './log-in.tsx'
import { addBulkPage } from './pages/bulk.tsx'
import { addContextPage } from './pages/context/context.tsx'
import { addContextsPages } from './pages/contexts.tsx'
import { addDeliveriesPage } from './pages/deliveries.tsx'
import { addHealthPage } from './pages/health.tsx'
import { addOperationPages } from './pages/operations.tsx'
import { addServicePage } from './pages/service.tsx'
import { addServicesPage } from './pages/services.tsx'
import { addWakeUpsPage } from './pages/wake-ups.tsx'
import { pageRoutes } from './routes.tsx'
import { openSessions } from './sessions.ts'

const require = createRequire(import.meta.url)
const OWN = join(import.meta.dirname, 'assets')

const ASSETS = {
  'style.css': { type: 'css', file: join(OWN, 'style.css') },
  'live.js': { type: 'javascript', file: join(OWN, 'live.js') },
  'idiomorph.js': { type: 'javascript', file: require.resolve('idiomorph/dist/idiomorph.min.js') },
}

const headers = secureHeaders({
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
})

/** The application of the pages, under /inspector. */
export function createInspector(options: InspectorOptions): Hono {
  const app = new Hono()
  const sessions = openSessions(options)
  const pages = pageRoutes(app, options, sessions)
  app.use('*', headers)
  app.use('*', async (c, next) => {
    options.checkHost(c)
    if (c.req.path === '/inspector/') return c.redirect('/inspector', 302)
    await next()
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
    return undefined
  })
  // Browsers ask for them again, and get them only if they have changed.
  for (const [name, { type, file }] of Object.entries(ASSETS))
    app.get(`/assets/${name}`, etag(), async (c) =>
      c.body(await readFile(file, 'utf8'), 200, {
        'content-type': `text/${type}; charset=utf-8`,
        'cache-control': 'no-cache',
      }),
    )
  addLogIn(app, pages, sessions)
  addServicesPage(pages)
  addServicePage(pages)
  addContextsPages(pages)
  addBulkPage(pages)
  addOperationPages(pages)
  addContextPage(pages)
  addWakeUpsPage(pages)
  addDeliveriesPage(pages)
  addHealthPage(pages)
  app.get('/stream', (c) => options.stream(c, () => pages.callerOf(c)))
  app.all('*', () => {
    throw new FluxError({ kind: 'noRoute', detail: 'There is no such page.' })
  })
  app.onError((error, c) => problem(c, pages, error))
  return app
}
