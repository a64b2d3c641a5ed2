// http: the answer at `/`: browsers are led to the pages of the inspector, other clients get links as JSON.
import type { Hono } from 'hono'
import { wantsPage } from '../formats/codecs.ts'
import { headerOf, type Env } from '../request/incoming.ts'
import type { OriginGuard } from '../request/origin-guard.ts'

export interface About {
  readonly name: string
  readonly version: string
}

const NOT_KEPT = { 'cache-control': 'no-cache', vary: 'Accept' }

export function addHome(app: Hono<Env>, { name, version }: About, origins: OriginGuard): void {
  app.get('/', (c) => {
    origins.checkHost(c)
    if (wantsPage(headerOf(c, 'accept'))) return c.body(null, 302, { location: '/inspector', ...NOT_KEPT })
    const links = {
      inspector: '/inspector',
      docs: '/docs',
      openapi: '/openapi.json',
      schema: '/flux-api/schema.xsd',
      fluxSchema: '/flux-schema.json',
      health: '/healthz',
      ready: '/readyz',
    }
    return c.json({ name, version, links }, 200, NOT_KEPT)
  })
}
