// http: the answer at `/`: what runs here, and links. A page for browsers, JSON for other clients.
import type { Hono } from 'hono'
import { html } from 'hono/html'
import { wantsPage } from '../formats/codecs.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import type { OriginGuard } from '../request/origin-guard.ts'
import { page, PAGE_HEADERS, PAGE_TYPE } from '../formats/html/document.ts'

export interface About {
  readonly name: string
  readonly version: string
  /** The number of services that are loaded. */
  readonly services: () => number
  /**
   * A command that starts one of the services on the server under that URL; null if there is none that anyone may
   * start.
   */
  readonly command: (url: string) => string | null
}

export interface HomeParts {
  readonly about: About
  readonly requireAuth: boolean
  readonly origins: OriginGuard
}

const NOT_KEPT = { 'cache-control': 'no-cache', vary: 'Accept' }

export function addHome(app: Hono<Env>, { about, requireAuth, origins }: HomeParts): void {
  app.get('/', (c) => {
    origins.checkHost(c)
    const { name, version } = about
    if (wantsPage(headerOf(c, 'accept')))
      return c.body(pageOf(about, { origin: new URL(c.req.url).origin, requireAuth }), 200, {
        'content-type': PAGE_TYPE,
        ...PAGE_HEADERS,
        ...NOT_KEPT,
      })
    return c.json(
      {
        name,
        version,
        links: {
          docs: '/docs',
          openapi: '/openapi.json',
          schema: '/flux-api/schema.xsd',
          health: '/healthz',
          ready: '/readyz',
        },
      },
      200,
      NOT_KEPT,
    )
  })
}

function pageOf(
  { name, version, services, command }: About,
  { origin, requireAuth }: { readonly origin: string; readonly requireAuth: boolean },
): string {
  const count = services()
  const start = command(origin)
  return page(
    name,
    html`<h1>${name} <small>${version}</small></h1>
<p>This server runs ${count === 1 ? '1 workflow service' : `${count} workflow services`}.${requireAuth ? ' Its calls need a token.' : ''}</p>
<ul>
<li><a href="docs">The API</a>, to read and to try</li>
<li><a href="openapi.json">The same for programs</a> (OpenAPI)</li>
${requireAuth ? '' : html`<li><a href="flux-api/contexts">The contexts that have not ended</a> (JSON)</li>`}
</ul>
${start === null ? '' : html`<h2>Start a service</h2>\n<pre>${start}</pre>`}`,
  )
}
