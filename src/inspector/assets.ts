// inspector: the style sheet and the scripts of the pages, from this server alone.
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Context, Hono } from 'hono'

const require = createRequire(import.meta.url)
const OWN = join(import.meta.dirname, 'assets')

const ASSETS = [
  { name: 'style.css', type: 'text/css', file: join(OWN, 'style.css') },
  { name: 'live.js', type: 'text/javascript', file: join(OWN, 'live.js') },
  { name: 'idiomorph.js', type: 'text/javascript', file: require.resolve('idiomorph/dist/idiomorph.min.js') },
] as const

/** Each is read once. Browsers ask again, and get it only if it has changed. */
export function addAssets(app: Hono): void {
  for (const { name, type, file } of ASSETS) {
    let known: Promise<{ readonly text: string; readonly tag: string }> | null = null
    const read = async () => {
      const text = await readFile(file, 'utf8')
      return { text, tag: `"${hash('sha256', text, 'base64url').slice(0, 22)}"` }
    }
    app.get(`/assets/${name}`, async (c: Context) => {
      known ??= read()
      known.catch(() => {
        known = null
      })
      const { text, tag } = await known
      const headers = { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache', etag: tag }
      return c.req.header('if-none-match') === tag ? c.body(null, 304, headers) : c.body(text, 200, headers)
    })
  }
}
