// inspector/pages: the list of contexts, with filters in its address, so that a link is a view; what can be done with those
// of it; and finding one.
import type { Context } from 'hono'
import { CALLS } from '../../api/calls.ts'
import type { CommandName } from '../../api/commands.ts'
import type { ListedContext } from '../../api/context-lists.ts'
import type { ServicesView } from '../../api/services.ts'
import { CONTEXT_STATUSES, isFinished } from '../../model/context.ts'
import { startCommand } from '../../model/start-command.ts'
import { Layout, PostForm } from '../layout.tsx'
import { cutLine, Empty, tagLink } from '../parts/blocks.tsx'
import {
  FilterForm,
  filtersIn,
  parametersOf,
  statusesIn,
  streamFilters,
  typedTexts,
  type ListFilters,
} from '../forms/filters.tsx'
import { contextHref, contextsHref, fullNameOf, operationHref } from '../parts/links.tsx'
import { isRetryable, statusSign } from '../parts/status.tsx'
import { contextIds, SERVICE, Table, times, type Column } from '../parts/table.tsx'
import type { PageRoutes } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

const PAGE_LIMIT = 50
/** Tags that a row shows. */
const MAX_TAGS = 3

const COMMON_FILTERS = ['status', 'fluxName', 'tag', 'key', 'currentState', 'errorType', 'order']

export function addContextsPages(pages: PageRoutes): void {
  pages.get('/contexts', list)
  pages.get('/find', async (viewer, c) => c.redirect(await find((c.req.query('q') ?? '').trim(), viewer), 302))
}

async function list(viewer: Viewer, c: Context) {
  const { api, may } = viewer
  const { order = 'desc', ...parameters } = parametersOf(c)
  const cursor = order === 'asc' ? 'after' : 'before'
  const filters = filtersIn(parameters)
  const request = typedTexts(CALLS.listContexts, { ...filters, order, [cursor]: parameters[cursor] })
  const [{ contexts, next }, { counts }, { services }] = await Promise.all([
    api.listPage({ ...request, limit: PAGE_LIMIT, view: 'summary' }),
    api.countContexts({ ...typedTexts(CALLS.countContexts, filters), status: undefined }),
    api.listServices({}),
  ])
  const shown = order === 'asc' ? { ...filters, order } : filters
  const table = (
    <Table
      columns={may('invoke') ? [CHOICE, ...COLUMNS] : COLUMNS}
      rows={contexts}
      idOf={({ id }) => `context-${id}`}
      part="rows"
      empty={nothing(shown, services, viewer)}
      next={next === null ? null : contextsHref({ ...shown, [cursor]: String(next) })}
    />
  )
  return (
    <Layout
      title="Contexts"
      aside={<a href={operationHref()}>Operations</a>}
      lead={
        <p class="row">
          {CONTEXT_STATUSES.filter((status) => counts[status]).map((status) => (
            <a
              href={contextsHref({ ...shown, status })}
              aria-current={filters['status'] === status ? 'true' : undefined}
            >
              {statusSign({ status })} {counts[status]?.toLocaleString('en')}
            </a>
          ))}
        </p>
      }
      live={streamFilters(filters)}
    >
      <FilterForm
        action={contextsHref()}
        filters={shown}
        list={CALLS.listContexts}
        common={COMMON_FILTERS}
        known={{ fluxName: services.map(fullNameOf) }}
      />
      {contexts.length > 0 && may('invoke') ? (
        <PostForm action="/inspector/contexts/many" values={{ back: contextsHref(shown) }} data-many>
          {commands(filters, may('admin'))}
          {table}
        </PostForm>
      ) : (
        table
      )}
    </Layout>
  )
}

/** What can be done with contexts of the list. Only what some of the list may take is offered. */
function commands(filters: ListFilters, maySteer: boolean) {
  const statuses = statusesIn(filters)
  const hasUnfinished = statuses.some((status) => !isFinished(status))
  return (
    <fieldset class="row many">
      <legend class="hidden">Do with those chosen</legend>
      <span class="row">
        <input name="tag" placeholder="tag" aria-label="Tag for those chosen" />
        {button('tag', 'Tag')}
        {button('untag', 'Untag')}
      </span>
      {hasUnfinished && (
        <span class="row">
          <input name="event" placeholder="event" aria-label="Event for those chosen" />
          {button('event', 'Send')}
        </span>
      )}
      {maySteer && statuses.some(isRetryable) && button('retry', 'Retry …')}
      {maySteer && hasUnfinished && filters['paused'] !== 'true' && button('pause', 'Pause …')}
      {maySteer && hasUnfinished && filters['paused'] !== 'false' && button('resume', 'Resume …')}
      {hasUnfinished && button('terminate', 'Terminate …')}
    </fieldset>
  )
}

const button = (command: CommandName, text: string) => (
  <button class={command === 'terminate' ? 'danger' : undefined} type="submit" name="do" value={command}>
    {text}
  </button>
)

const CHOICE: Column<ListedContext> = {
  head: 'choose',
  control: <input type="checkbox" aria-label="Choose all of this page" data-all hidden />,
  cell: ({ id }) => <input type="checkbox" name="id" value={String(id)} aria-label={`Choose ${id}`} />,
}

const COLUMNS: readonly Column<ListedContext>[] = [
  { head: 'status', cell: statusSign },
  contextIds(({ id }) => id),
  SERVICE,
  {
    head: 'state',
    cell: ({ currentState, error }) => (
      <>
        {cutLine(currentState)} {error && cutLine(error.message, 'faint')}
      </>
    ),
  },
  {
    head: 'tags',
    cell: ({ tags }) => [
      ...tags.slice(0, MAX_TAGS).map((tag) => tagLink(tag, contextsHref({ tag }))),
      tags.length > MAX_TAGS && <small title={tags.slice(MAX_TAGS).join(', ')}>{` +${tags.length - MAX_TAGS}`}</small>,
    ],
  },
  times('started', ({ startedAt }) => startedAt),
  times('next run', ({ nextRun }) => nextRun),
]

function nothing(filters: ListFilters, services: ServicesView['services'], { origin, hasSession }: Viewer) {
  if (Object.keys(filters).length > 0)
    return (
      <Empty>
        Nothing matches. <a href={contextsHref({ status: 'all' })}>All contexts that are kept</a>
      </Empty>
    )
  const named = services.map((service) => ({ ...service, source: service }))
  return (
    <Empty command={startCommand(named, origin, hasSession)}>
      No context is unfinished. Start one with the form of <a href="/inspector">a service</a>, or with the API.
    </Empty>
  )
}

/** Where one context, or a list of them, is found under a text. A number may also be a key or a tag. */
async function find(text: string, { api }: Viewer) {
  if (text === '') return contextsHref()
  const firstOf = async (filter: Parameters<typeof api.listPage>[0]) =>
    (await api.listPage({ ...filter, status: 'all', limit: 1, view: 'summary' })).contexts[0]
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (id > 0 && (await firstOf({ order: 'desc', before: id + 1 }))?.id === id) return contextHref(id)
  const { services } = await api.listServices({})
  const [service, other] = services.filter((each) => each.fluxName === text || fullNameOf(each) === text)
  if (service) return contextsHref({ fluxName: other ? text : fullNameOf(service) })
  if (await firstOf({ key: text })) return contextsHref({ key: text, status: 'all' })
  // It may be one that is shown to others.
  if (id > 0 && !(await firstOf({ tag: [text] }))) return contextHref(id)
  return contextsHref({ tag: text, status: 'all' })
}
