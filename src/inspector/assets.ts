// inspector: the style sheet and the scripts of the pages, from this server alone.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Hono } from 'hono'
import { etag } from 'hono/etag'

const require = createRequire(import.meta.url)
const OWN = join(import.meta.dirname, 'assets')

const ASSETS = [
  { name: 'style.css', type: 'text/css', file: join(OWN, 'style.css') },
  { name: 'live.js', type: 'text/javascript', file: join(OWN, 'live.js') },
  { name: 'idiomorph.js', type: 'text/javascript', file: require.resolve('idiomorph/dist/idiomorph.min.js') },
]

/** Browsers ask for them again, and get them only if they have changed. */
export function addAssets(app: Hono): void {
  for (const { name, type, file } of ASSETS)
    app.get(`/assets/${name}`, etag(), async (c) =>
      c.body(await readFile(file, 'utf8'), 200, {
        'content-type': `${type}; charset=utf-8`,
        'cache-control': 'no-cache',
      }),
    )
}
