// inspector/routes: the page that shows how the server is.
import type { Hono } from 'hono'
import type { InspectorOptions } from '../host.ts'
import { HealthPage } from '../pages/health.tsx'
import type { Visitor } from '../visitor.ts'
import { documentOf, type Pages } from './pages.ts'

const HOUR_MS = 3_600_000
/** Failed contexts that are read. */
const MAX_FAILED = 1000

export function addHealthPage(app: Hono, pages: Pages, { health }: Pick<InspectorOptions, 'health'>): void {
  app.get('/health', async (c) => {
    const visitor = pages.visitor(c)
    const since = visitor.now - HOUR_MS
    return pages.make('chart', async () => {
      const [now, failed] = await Promise.all([health(), failedSince(visitor, since)])
      return documentOf(c, <HealthPage visitor={visitor} health={now} since={since} {...failed} />)
    })
  })
}

/** The most frequent first, each with its newest message. */
async function failedSince({ api }: Visitor, since: number) {
  const { contexts, next } = await api.listPage({
    status: 'FAILED',
    endedAfter: since,
    order: 'desc',
    view: 'summary',
    limit: MAX_FAILED,
  })
  const errors = new Map<string, { type: string; count: number; message: string }>()
  for (const { error } of contexts) {
    if (!error) continue
    const known = errors.get(error.type)
    if (known) known.count += 1
    else errors.set(error.type, { type: error.type, count: 1, message: error.message })
  }
  return { errors: [...errors.values()].toSorted((one, other) => other.count - one.count), isCut: next !== null }
}
