// inspector/pages: the list of contexts, with filters in its address, so that a link is a view; and finding one.
import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import { check } from '../../api/call.ts'
import { CALLS } from '../../api/calls.ts'
import type { ListedContext } from '../../api/context-lists.ts'
import type { ServicesView } from '../../api/services.ts'
import { CONTEXT_STATUSES } from '../../model/context.ts'
import { startCommand } from '../../model/start-command.ts'
import { Layout, PostForm } from '../layout.tsx'
import { CutLine, Empty, Tag } from '../parts/blocks.tsx'
import { FilterForm, filtersIn, parametersOf, streamFilters, typedTexts, type ListFilters } from '../forms/filters.tsx'
import { contextHref, contextsHref, fullNameOf, operationHref, ServiceLink } from '../parts/links.tsx'
import { StatusSign } from '../parts/status.tsx'
import { contextIds, Table, times, type Column } from '../parts/table.tsx'
import type { PageRoutes } from '../routes.tsx'
import { useViewer, type Viewer } from '../viewer.ts'
import { BulkBar } from './bulk-bar.tsx'

const PAGE_LIMIT = 50
/** Tags that a row shows. */
const MAX_TAGS = 3

const COMMON_FILTERS = ['status', 'fluxName', 'tag', 'key', 'currentState', 'errorType', 'order']

export function addContextsPages(pages: PageRoutes): void {
  pages.get('/contexts', 'plain', list)
  pages.get('/find', 'plain', async (viewer, c) => c.redirect(await find((c.req.query('q') ?? '').trim(), viewer), 302))
}

async function list(viewer: Viewer, c: Context) {
  const { api } = viewer
  const { order = 'desc', ...parameters } = parametersOf(c)
  const cursor = order === 'asc' ? 'after' : 'before'
  const filters = filtersIn(parameters)
  const { page: _page, ...request } = check(
    CALLS.listContexts,
    typedTexts(CALLS.listContexts, { ...filters, order, [cursor]: parameters[cursor] }),
  )
  const counted = check(CALLS.countContexts, typedTexts(CALLS.countContexts, filters))
  const [{ contexts, next }, { counts }, { services }] = await Promise.all([
    api.listPage({ ...request, limit: PAGE_LIMIT, view: 'summary' }),
    api.countContexts({ ...counted, status: undefined }),
    api.listServices({}),
  ])
  const shown = order === 'asc' ? { ...filters, order } : filters
  const table = (
    <Table
      columns={viewer.may('invoke') ? [CHOICE, ...COLUMNS] : COLUMNS}
      rows={contexts}
      idOf={({ id }) => `context-${id}`}
      part="rows"
      empty={<Nothing filters={shown} services={services} />}
      next={next === null ? null : contextsHref({ ...shown, [cursor]: String(next) })}
    />
  )
  return (
    <Layout
      title="Contexts"
      aside={<a href={operationHref()}>Operations</a>}
      lead={<Counts filters={shown} counts={counts} />}
      live={streamFilters(filters)}
    >
      <FilterForm
        action={contextsHref()}
        filters={shown}
        list={CALLS.listContexts}
        common={COMMON_FILTERS}
        known={{ fluxName: services.map(fullNameOf) }}
      />
      {contexts.length > 0 && viewer.may('invoke') ? (
        <PostForm action="/inspector/contexts/many" data-many>
          <input type="hidden" name="back" value={contextsHref(shown)} />
          <BulkBar filters={filters} />
          {table}
        </PostForm>
      ) : (
        table
      )}
    </Layout>
  )
}

interface CountsProps {
  readonly filters: ListFilters
  /** By status. */
  readonly counts: { readonly [status: string]: number }
}

const Counts: FC<CountsProps> = ({ filters, counts }) => (
  <p class="row">
    {CONTEXT_STATUSES.filter((status) => counts[status]).map((status) => (
      <a href={contextsHref({ ...filters, status })} aria-current={filters['status'] === status ? 'true' : undefined}>
        <StatusSign status={status} /> {counts[status]?.toLocaleString('en')}
      </a>
    ))}
  </p>
)

const CHOICE: Column<ListedContext> = {
  head: 'choose',
  control: <input type="checkbox" aria-label="Choose all of this page" data-all hidden />,
  cell: ({ id }) => <input type="checkbox" name="id" value={String(id)} aria-label={`Choose ${id}`} />,
}

const COLUMNS: readonly Column<ListedContext>[] = [
  { head: 'status', cell: (context) => <StatusSign {...context} /> },
  contextIds(({ id }) => id),
  { head: 'service', cell: (context) => <ServiceLink service={context} /> },
  {
    head: 'state',
    cell: ({ currentState, error }) => (
      <>
        <CutLine text={currentState} /> {error && <CutLine text={error.message} class="faint" />}
      </>
    ),
  },
  {
    head: 'tags',
    cell: ({ tags }) =>
      tags.length === 0 ? (
        ''
      ) : (
        <>
          {tags.slice(0, MAX_TAGS).map((tag) => (
            <Tag tag={tag} href={contextsHref({ tag })} />
          ))}
          {tags.length > MAX_TAGS && (
            <small title={tags.slice(MAX_TAGS).join(', ')}>{` +${tags.length - MAX_TAGS}`}</small>
          )}
        </>
      ),
  },
  times('started', ({ startedAt }) => startedAt),
  times('next run', ({ nextRun }) => nextRun),
]

const Nothing: FC<{ readonly filters: ListFilters; readonly services: ServicesView['services'] }> = ({
  filters,
  services,
}) => {
  const { origin, hasSession } = useViewer()
  if (Object.keys(filters).length > 0)
    return (
      <Empty>
        Nothing matches. <a href={contextsHref({ status: 'all' })}>All contexts that are kept</a>
      </Empty>
    )
  const named = services.map(({ input, secured, ...name }) => ({ ...name, source: { input, secured } }))
  return (
    <Empty command={startCommand(named, origin, hasSession)}>
      No context is unfinished. Start one with the form of <a href="/inspector">a service</a>, or with the API.
    </Empty>
  )
}

/** Where one context, or a list of them, is found under a text. A number may also be a key or a tag. */
async function find(text: string, { api }: Viewer): Promise<string> {
  if (text === '') return contextsHref()
  const firstOf = async (filter: Parameters<typeof api.listPage>[0]) =>
    (await api.listPage({ ...filter, status: 'all', limit: 1, view: 'summary' })).contexts[0]
  const id = /^\d{1,15}$/.test(text) ? Number(text) : 0
  const upTo = id > 0 ? await firstOf({ order: 'desc', before: id + 1 }) : undefined
  if (upTo?.id === id) return contextHref(id)
  const { services } = await api.listServices({})
  const [service, other] = services.filter((each) => each.fluxName === text || fullNameOf(each) === text)
  if (service) return contextsHref({ fluxName: other ? text : fullNameOf(service) })
  if (await firstOf({ key: text })) return contextsHref({ key: text, status: 'all' })
  // It may be one that is shown to others.
  if (id > 0 && !(await firstOf({ tag: [text] }))) return contextHref(id)
  return contextsHref({ tag: text, status: 'all' })
}
