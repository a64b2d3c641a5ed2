// inspector/routes: the list of contexts, wake-ups, and finding.
import type { Context, Hono } from 'hono'
import { malformed } from '../../model/failure.ts'
import { ContextsPage } from '../pages/contexts.tsx'
import { WakeUpsPage } from '../pages/wake-ups.tsx'
import { contextHref, contextsHref, fullNameOf } from '../parts/links.ts'
import type { Visitor } from '../visitor.ts'
import { filterParametersOf, requestOf, withoutPage } from './filters.ts'
import { documentOf, type Pages } from './pages.ts'

const PAGE_LIMIT = 50
/** Contexts that the charts count. */
const MAX_DUE = 5000
/** Reads of them: each may end early, where contexts are large. */
const MAX_READS = 10
const DAY_MS = 86_400_000
/** Contexts that are asked for at once. */
const STRIDE = 1000

export function addContextsPages(app: Hono, pages: Pages): void {
  app.get('/contexts', (c) => pages.make('plain', () => list(c, pages)))
  app.get('/find', (c) => pages.make('plain', () => find(c, pages.visitor(c))))
  app.get('/wake-ups', async (c) => {
    const visitor = pages.visitor(c)
    return pages.make('chart', async () => documentOf(c, <WakeUpsPage visitor={visitor} {...await dueIn(visitor)} />))
  })
}

async function list(c: Context, pages: Pages): Promise<Response> {
  const visitor = pages.visitor(c)
  const { api } = visitor
  const parameters = filterParametersOf(c)
  const filters = withoutPage(parameters)
  const isOldestFirst = parameters['order'] === 'asc'
  if (!isOldestFirst && (parameters['order'] ?? 'desc') !== 'desc') throw malformed('order must be asc or desc')
  const cursor = isOldestFirst ? 'after' : 'before'
  const from = parameters[cursor]
  const request = requestOf(filters)
  const [{ contexts, next }, counted, { services }] = await Promise.all([
    api.listPage({
      ...request,
      order: isOldestFirst ? 'asc' : 'desc',
      limit: PAGE_LIMIT,
      view: 'summary',
      ...(from !== undefined && { [cursor]: Number(from) }),
    }),
    api.countContexts({ ...request, status: undefined, by: 'status' }),
    api.listServices({}),
  ])
  const kept = isOldestFirst ? { ...filters, order: 'asc' } : filters
  const facts = {
    filters: kept,
    contexts,
    next: next === null ? null : contextsHref({ ...kept, [cursor]: String(next) }),
    counts: counted.counts,
    services,
  }
  return documentOf(c, <ContextsPage {...facts} visitor={visitor} />)
}

/** Where one context, or a list of them, is found under a text. A number may also be a key or a tag. */
async function find(c: Context, { api }: Visitor): Promise<Response> {
  const text = (c.req.query('q') ?? '').trim()
  if (text === '') return c.redirect(contextsHref({}), 302)
  const firstOf = async (filter: Parameters<typeof api.listPage>[0]) =>
    (await api.listPage({ ...filter, status: 'all', limit: 1, view: 'summary' })).contexts[0]
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0
  const upTo = id > 0 ? await firstOf({ order: 'desc', before: id + 1 }) : undefined
  if (upTo?.id === id) return c.redirect(contextHref(id), 302)
  const { services } = await api.listServices({})
  const [service, other] = services.filter((each) => each.fluxName === text || fullNameOf(each) === text)
  if (service) return c.redirect(contextsHref({ fluxName: other ? text : fullNameOf(service) }), 302)
  if (await firstOf({ key: text })) return c.redirect(contextsHref({ key: text, status: 'all' }), 302)
  // It may be one that is shown to others.
  if (id > 0 && !(await firstOf({ tag: [text] }))) return c.redirect(contextHref(id), 302)
  return c.redirect(contextsHref({ tag: text, status: 'all' }), 302)
}

async function dueIn({ api, now }: Visitor) {
  const due = []
  let after: number | undefined
  for (let reads = 1; ; reads += 1) {
    const page = await api.listPage({
      status: ['WAITING_UNTIL'],
      dueBefore: now + DAY_MS,
      view: 'summary',
      limit: STRIDE,
      ...(after !== undefined && { after }),
    })
    due.push(...page.contexts)
    if (page.next === null || due.length >= MAX_DUE || reads >= MAX_READS) return { due, isCut: page.next !== null }
    after = page.next
  }
}
