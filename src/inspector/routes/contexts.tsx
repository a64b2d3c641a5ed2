// inspector/routes: the list of contexts, what is done with many of them, wake-ups, and finding.
import type { Context, Hono } from 'hono'
import type { OperationRequest } from '../../api/start-operation.ts'
import { malformed } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { ContextsPage } from '../pages/contexts.tsx'
import { AskPage, RunPage, type AskedDeed } from '../pages/many.tsx'
import { WakeUpsPage } from '../pages/wake-ups.tsx'
import { contextHref, contextsHref } from '../parts/links.ts'
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
  app.post('/contexts/many', (c) => many(c, pages))
  app.get('/runs/:id', async (c) => {
    const visitor = pages.visitor(c)
    const operation = await visitor.api.getOperation({ operationId: c.req.param('id') })
    return documentOf(c, <RunPage visitor={visitor} operation={operation} />)
  })
  app.post('/runs/:id/stop', async (c) => {
    const { visitor } = await pages.changer(c)
    const { operationId } = await visitor.api.getOperation({ operationId: c.req.param('id') })
    await visitor.api.stopOperation({ operationId })
    return c.redirect(`/inspector/runs/${operationId}`, 303)
  })
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
    services: [...new Set(services.map(({ fluxName }) => fluxName))],
    notice: parameters['done'] ?? null,
  }
  return documentOf(c, <ContextsPage {...facts} visitor={visitor} />)
}

/** Asks whether it is meant, then begins. */
async function many(c: Context, pages: Pages): Promise<Response> {
  const { visitor, form } = await pages.changer(c)
  const textOf = (name: string) => form.get(name)?.[0] ?? ''
  const deed = DEEDS.find((each) => each === textOf('do'))
  if (deed === undefined) throw malformed('it is not known what is to be done')
  const word = textOf('with') || textOf(deed === 'untag' ? 'tag' : deed)
  if (deed !== 'terminate' && word === '') throw malformed(deed === 'event' ? 'name the event' : 'name the tag')
  const ids = (form.get('id') ?? []).map(Number).filter((id) => Number.isSafeInteger(id) && id > 0)
  const back = listPath(textOf('back'))
  const filters = Object.fromEntries(new URL(back, 'http://host').searchParams)
  const filter = requestOf(withoutPage(filters))
  if (textOf('sure') !== 'yes') {
    const named = Object.entries(withoutPage(filters)).map(([name, value]) => `${name}=${value}`)
    const status = filter.status ?? UNFINISHED
    const matched = (await visitor.api.countContexts({ ...filter, status, by: 'status' })).total
    const words = named.join(', ') || 'all that are unfinished'
    const asked = { deed, with: word, ids, matched, filters: words, back }
    return documentOf(c, <AskPage {...asked} visitor={visitor} />)
  }
  const chosen = textOf('scope') === 'chosen' ? { contextIds: ids } : {}
  const request = { filter: given(filter), ...chosen, ...doing(deed, word) }
  const { operationId = '' } = await visitor.api.startOperation(request)
  return c.redirect(`/inspector/runs/${operationId}`, 303)
}

const DEEDS: readonly AskedDeed[] = ['terminate', 'tag', 'untag', 'event']

/** What is to be done. `word`: the tag, or the name of the event. */
const doing = (deed: AskedDeed, word: string): Pick<OperationRequest, 'do' | 'with'> => {
  if (deed === 'terminate') return { do: deed }
  return { do: deed, with: deed === 'event' ? { event: word } : { tags: [word] } }
}

/** Without what is left out. */
const given = (filter: object): JsonObject => JSON.parse(JSON.stringify(filter))

const UNFINISHED = ['RUNNING', 'WAITING', 'WAITING_UNTIL']

const listPath = (path: string): string => (path.startsWith('/inspector/contexts?') ? path : '/inspector/contexts')

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
  const isService = services.some(({ fluxName }) => fluxName === text)
  if (isService) return c.redirect(contextsHref({ fluxName: text }), 302)
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
