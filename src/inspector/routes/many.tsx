// inspector/routes: what is done with many contexts: it is asked for, begins as an operation, and shows how far it is.
import type { Context, Hono } from 'hono'
import { COMMANDS } from '../../api/commands.ts'
import type { OperationRequest } from '../../api/operations.ts'
import { CONTEXT_STATUSES, type Status } from '../../model/context.ts'
import { FluxError, malformed } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { typedObjectOf, retryOptionsOf } from '../forms/retry-fields.tsx'
import type { FormValues } from '../host.ts'
import { AskPage, ASKED_COMMANDS, takesWord, type Asked, type AskedCommand } from '../pages/many.tsx'
import { OperationPage, OperationsPage } from '../pages/operations.tsx'
import type { ListFilters } from '../parts/filter-form.tsx'
import { fullNameOf, operationHref } from '../parts/links.ts'
import { isRetryable } from '../parts/status.tsx'
import type { Visitor } from '../visitor.ts'
import { requestOf, withoutPage } from './filters.ts'
import { documentOf, onceKeyOf, type Pages } from './pages.ts'
import { UnderWay } from './under-way.ts'

/** Forms whose operation is known when they are sent again. */
const KEPT_FORMS = 1000
/** Operations of a page of the list. */
const PAGE_LIMIT = 50
const UNFINISHED: readonly Status[] = ['RUNNING', 'WAITING', 'WAITING_UNTIL']

export function addManyPages(app: Hono, pages: Pages): void {
  const underWay = new UnderWay<string>({ kept: KEPT_FORMS })
  app.post('/contexts/many', (c) => many(c, pages, underWay))
  app.get('/operations', (c) => pages.make('plain', () => list(c, pages)))
  app.get('/operations/:id', async (c) => {
    const visitor = pages.visitor(c)
    const operation = await visitor.api.getOperation({ operationId: c.req.param('id') })
    return documentOf(c, <OperationPage visitor={visitor} operation={operation} />)
  })
  app.post('/operations/:id/stop', async (c) => {
    const { visitor } = await pages.changer(c)
    const operationId = c.req.param('id')
    const operation = await visitor.api.getOperation({ operationId })
    pages.checkRole(visitor, COMMANDS[operation.do].role)
    // One that is done meanwhile shows that.
    if (operation.status === 'running') await visitor.api.stopOperation({ operationId }).catch(unlessDone)
    return c.redirect(operationHref(operationId), 303)
  })
}

function unlessDone(error: unknown): void {
  if (!(error instanceof FluxError) || error.failure.kind !== 'conflict') throw error
}

/** The API lists the last 1,000 of them; a page goes on behind one. */
async function list(c: Context, pages: Pages): Promise<Response> {
  const visitor = pages.visitor(c)
  const all = await visitor.api.listOperations()
  const after = c.req.query('after')
  const from = after === undefined ? 0 : all.findIndex(({ operationId }) => operationId === after) + 1
  const operations = all.slice(from, from + PAGE_LIMIT)
  const last = operations.at(-1)
  const hasMore = all.length > from + PAGE_LIMIT && last !== undefined
  const next = hasMore ? `${operationHref()}?after=${encodeURIComponent(last.operationId)}` : null
  const [first] = all.length > 0 ? [] : (await visitor.api.listServices({})).services
  const service = first ? fullNameOf(first) : null
  return documentOf(c, <OperationsPage visitor={visitor} operations={operations} next={next} service={service} />)
}

interface Wish {
  readonly command: AskedCommand
  /** The tag, or the name of the event; empty for others. */
  readonly word: string
  /** Those that were chosen. */
  readonly ids: readonly number[]
  /** Of the list that they were chosen from. */
  readonly filters: ListFilters
  readonly back: string
}

/** Asks whether it is meant, then begins. */
async function many(c: Context, pages: Pages, underWay: UnderWay<string>): Promise<Response> {
  const { visitor, form } = await pages.changer(c)
  const wish = wishOf(form)
  pages.checkRole(visitor, COMMANDS[wish.command].role)
  if (form.get('sure')?.[0] !== 'yes')
    return documentOf(c, <AskPage {...await askedFor(visitor, wish)} visitor={visitor} refusal={null} />)
  let operationId = ''
  const refused = await pages.refusedBy(form, async () => {
    const start = async () => (await visitor.api.startOperation(requestFor(wish, form))).operationId ?? ''
    operationId = await underWay.join(onceKeyOf(c, visitor.caller, form), start)
  })
  if (refused === null) return c.redirect(operationHref(operationId), 303)
  const asked = await askedFor(visitor, wish)
  return documentOf(c, <AskPage {...asked} visitor={visitor} refusal={refused.refusal} />, refused.status)
}

/** @throws FluxError `malformed` when it does not say what is to be done */
function wishOf(form: FormValues): Wish {
  const textOf = (name: string) => form.get(name)?.[0] ?? ''
  const command = ASKED_COMMANDS.find((each) => each === textOf('do'))
  if (command === undefined) throw malformed('it is not known what is to be done')
  const word = takesWord(command) ? textOf('with') || textOf(command === 'event' ? 'event' : 'tag') : ''
  if (takesWord(command) && word === '') throw malformed(command === 'event' ? 'name the event' : 'name the tag')
  const ids = (form.get('id') ?? []).map(Number).filter((id) => Number.isSafeInteger(id) && id > 0)
  const back = listPath(textOf('back'))
  return {
    command,
    word,
    ids,
    filters: withoutPage(Object.fromEntries(new URL(back, 'http://host').searchParams)),
    back,
  }
}

const listPath = (path: string): string => (path.startsWith('/inspector/contexts?') ? path : '/inspector/contexts')

async function askedFor({ api }: Visitor, wish: Wish): Promise<Asked> {
  const { command, word, ids, back } = wish
  const filter = filterOf(wish)
  const { total } = await api.countContexts({ ...filter, status: filter.status ?? UNFINISHED, by: 'status' })
  const named = Object.entries(given(filter)).map(([name, value]) => `${name}=${String(value)}`)
  return { command, with: word, ids, matched: total, filters: named.join(', ') || 'all that are unfinished', back }
}

/** Only what has failed or was terminated can be retried, so of a list only these are meant. */
function filterOf({ command, filters }: Wish): ReturnType<typeof requestOf> {
  const filter = requestOf(filters)
  if (command !== 'retry') return filter
  const listed = filters['status'] === 'all' ? CONTEXT_STATUSES : (filters['status']?.split(',') ?? [])
  const retried = CONTEXT_STATUSES.filter((status) => listed.includes(status) && isRetryable(status))
  return retried.length === 0 ? filter : { ...filter, status: retried }
}

/** Those that were chosen are meant whatever has become of them; each that can't take it is told. */
function requestFor(wish: Wish, form: FormValues): OperationRequest {
  const doing = { do: wish.command, ...withOf(wish, form) }
  if (form.get('scope')?.[0] !== 'chosen') return { filter: given(filterOf(wish)), ...doing }
  return { filter: { status: 'all' }, contextIds: [...wish.ids], ...doing }
}

function withOf({ command, word }: Wish, form: FormValues): Pick<OperationRequest, 'with'> {
  switch (command) {
    case 'event': {
      const input = typedObjectOf(form, 'inputs')
      return { with: input === null ? { event: word } : { event: word, input } }
    }
    case 'tag':
    case 'untag':
      return { with: { tags: [word] } }
    case 'retry':
      return { with: given(retryOptionsOf(form)) }
    default:
      return {}
  }
}

/** Without what is left out. */
const given = (values: object): JsonObject => JSON.parse(JSON.stringify(values))
