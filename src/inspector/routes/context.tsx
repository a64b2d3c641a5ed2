// inspector/routes: the page of a context, and its forms.
import { CALLS } from '../../api/calls.ts'
import type { Context, Hono } from 'hono'
import { rootOf } from '../../api/call.ts'
import { notFound, FluxError } from '../../model/failure.ts'
import { graphOf } from '../diagram/graph.ts'
import { controlsOf, inputOf } from '../forms/controls.ts'
import { retryOptionsOf } from '../forms/retry-fields.tsx'
import type { FormValues } from '../host.ts'
import { ContextDocument, TABS, type ContextFacts } from '../pages/context/context.tsx'
import type { SentForm } from '../pages/context/actions.tsx'
import { MAX_TEXT_CHARACTERS } from '../parts/cut-text.tsx'
import { contextHref } from '../parts/links.ts'
import type { Visitor } from '../visitor.ts'
import { documentOf, onceKeyOf, type Pages } from './pages.ts'
import { UnderWay } from './under-way.ts'

/** Children that the timeline links to. */
const MAX_CHILDREN = 100

export function addContextPage(app: Hono, pages: Pages): void {
  const underWay = new UnderWay<void>()
  app.get('/contexts/:id', (c) => show(c, pages, { visitor: pages.visitor(c), sent: null, status: 200 }))
  app.post('/contexts/:id/events', async (c) => {
    const { visitor, form } = await pages.changer(c)
    const refused = await pages.refusedBy(form, () => {
      const key = onceKeyOf(c, visitor.caller, form)
      return underWay.join(key, () => send(visitor, { contextId: idOf(c), form, key }))
    })
    if (refused === null) return c.redirect(contextHref(idOf(c)), 303)
    const sent = { event: form.get('event')?.[0] ?? '', refusal: refused.refusal }
    return show(c, pages, { visitor, sent, status: refused.status })
  })
  for (const command of ['retry', 'pause', 'resume'] as const)
    app.post(`/contexts/:id/${command}`, async (c) => {
      const { visitor, form } = await pages.changer(c, 'admin')
      const refused = await pages.refusedBy(form, () => {
        const key = onceKeyOf(c, visitor.caller, form)
        return underWay.join(key, () => steer(visitor, command, { contextId: idOf(c), form, key }))
      })
      if (refused === null) return c.redirect(contextHref(idOf(c)), 303)
      return show(c, pages, { visitor, sent: { event: null, refusal: refused.refusal }, status: refused.status })
    })
  app.post('/contexts/:id/tags', async (c) => {
    const { visitor, form } = await pages.changer(c)
    const request = { contextId: idOf(c), tag: [form.get('tag')?.[0] ?? ''] }
    if (form.get('do')?.[0] === 'remove') await visitor.api.removeTags(request)
    else await visitor.api.addTags(request)
    return c.redirect(contextHref(idOf(c)), 303)
  })
  app.post('/contexts/:id/terminate', async (c) => {
    const { visitor } = await pages.changer(c)
    await visitor.api.terminate({ contextId: idOf(c) })
    return c.redirect(contextHref(idOf(c)), 303)
  })
}

/** @throws FluxError `notFound` for what is no id */
function idOf(c: Context): number {
  const text = c.req.param('id') ?? ''
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (id < 1 || !Number.isSafeInteger(id)) throw notFound(`there is no context ${text}`)
  return id
}

interface Sent {
  readonly contextId: number
  readonly form: FormValues
  /** Under which it is sent once. */
  readonly key: string | undefined
}

/** @throws FluxError also for fields that are no JSON */
async function send({ api }: Visitor, { contextId, form, key }: Sent): Promise<void> {
  const event = form.get('event')?.[0] ?? ''
  const { events } = await api.getContextEvents({ contextId })
  const schema = events.find((each) => each.event === event)?.input
  const { input, errors } = inputOf(controlsOf(schema ?? {}), form)
  if (errors.length > 0) throw new FluxError({ kind: 'invalid', detail: 'the input can not be read', errors })
  await api.sendEvent({ contextId, event, input, untyped: true, idempotencyKey: key })
}

/** @throws FluxError also for inputs that are no JSON */
async function steer(
  { api }: Visitor,
  command: 'retry' | 'pause' | 'resume',
  { contextId, form, key: idempotencyKey }: Sent,
): Promise<void> {
  if (command === 'retry') await api.retry({ contextId, ...retryOptionsOf(form), idempotencyKey })
  else await api[command]({ contextId, idempotencyKey })
}

interface Shown {
  readonly visitor: Visitor
  readonly sent: SentForm | null
  readonly status: number
}

function show(c: Context, pages: Pages, { visitor, sent, status }: Shown): Promise<Response> {
  return pages.make('large', async () => {
    const facts = await factsOf(c, pages, visitor)
    return documentOf(c, <ContextDocument {...facts} visitor={visitor} sent={sent} />, status)
  })
}

async function factsOf(c: Context, pages: Pages, { api }: Visitor): Promise<ContextFacts> {
  const contextId = idOf(c)
  const tab = TABS.find((name) => name === c.req.query('tab')) ?? 'Timeline'
  const state = c.req.query('state') ?? null
  // The models say which values of the data are dates.
  const resolved = tab === 'Data' || state !== null
  const [context, events, definition] = await Promise.all([
    api.getContext({ contextId, snapshot: tab === 'Snapshot' }),
    api.getContextEvents({ contextId }),
    api.getDefinition({ contextId, ...(resolved && { resolved }) }).catch(nullIfLost),
  ])
  const hasChildren = graphOf(definition ?? {}).states.some(({ kind }) => kind === 'child')
  const children = { parent: contextId, status: 'all', order: 'desc', view: 'summary', limit: MAX_CHILDREN } as const
  const drawing = definition && (await pages.drawings.of(context.definition, definition))
  const xml = tab === 'XML' ? pages.xmlText(context, rootOf(CALLS.getContext.answer), MAX_TEXT_CHARACTERS) : null
  return {
    context,
    events,
    definition,
    drawing,
    childContexts: hasChildren ? (await api.listPage(children)).contexts : [],
    xml,
    tab,
    state,
    event: c.req.query('event') ?? null,
  }
}

/** The definition of an old context may be lost; the rest is shown all the same. */
function nullIfLost(error: unknown): null {
  if (error instanceof FluxError && error.failure.kind === 'notFound') return null
  throw error
}
