// inspector/pages: the list of contexts, with filters in its address, so that a link is a view.
import type { FC } from 'hono/jsx'
import type { ListedContext } from '../../api/context-lists.ts'
import type { ServicesView } from '../../api/services.ts'
import { CONTEXT_STATUSES } from '../../model/context.ts'
import { FilterForm, type ListFilters } from '../parts/filter-form.tsx'
import { Empty, startCommandFor } from '../parts/command.tsx'
import { contextHref, contextsHref, fullNameOf, operationHref, streamFilters } from '../parts/links.ts'
import { ServiceLink } from '../parts/service-link.tsx'
import { StatusSign } from '../parts/status.tsx'
import { Older, Table, type Column } from '../parts/table.tsx'
import { When } from '../parts/time.tsx'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'
import { ManyBar } from './many-bar.tsx'

/** Tags that a row shows. */
const MAX_TAGS = 3

export interface ContextsFacts {
  readonly filters: ListFilters
  readonly contexts: readonly ListedContext[]
  /** Address of the next page; null: this is the last. */
  readonly next: string | null
  /** How many there are by status, of the same filters. */
  readonly counts: { readonly [status: string]: number }
  /** Those that are loaded. */
  readonly services: ServicesView['services']
}

export const ContextsPage: FC<ContextsFacts & { readonly visitor: Visitor }> = (facts) => {
  const { visitor, filters, contexts, next, counts, services } = facts
  return (
    <Shell title="Contexts" place="Contexts" visitor={visitor} live={streamFilters(filters)}>
      <div class="head">
        <div class="row split">
          <h1>Contexts</h1>
          <a href={operationHref()}>Operations</a>
        </div>
        <Counts counts={counts} filters={filters} />
      </div>
      <FilterForm filters={filters} services={services.map(fullNameOf)} />
      {contexts.length === 0 ? (
        <Nothing filters={filters} command={startCommandFor(services, visitor)} />
      ) : !visitor.mayInvoke ? (
        <List contexts={contexts} visitor={visitor} />
      ) : (
        <form method="post" action="/inspector/contexts/many" class="stack" data-many>
          <FormToken visitor={visitor} />
          <input type="hidden" name="back" value={contextsHref(filters)} />
          <ManyBar visitor={visitor} filters={filters} />
          <List contexts={contexts} visitor={visitor} />
        </form>
      )}
      <Older next={next} />
    </Shell>
  )
}

const columnsFor = (visitor: Visitor): readonly Column<ListedContext>[] => [
  ...(visitor.mayInvoke ? [CHOICE] : []),
  { head: 'status', cell: ({ status, paused }) => <StatusSign status={status} isPaused={paused} /> },
  {
    head: 'id',
    isNumber: true,
    class: 'mono',
    cell: ({ id }) => (
      <a href={contextHref(id)} data-open>
        {id}
      </a>
    ),
  },
  { head: 'service', cell: (context) => <ServiceLink service={context} /> },
  { head: 'state', cell: (context) => <StateOf context={context} /> },
  { head: 'tags', cell: ({ tags }) => (tags.length === 0 ? '' : <Tags tags={tags} />) },
  { head: 'started', isNumber: true, cell: ({ startedAt }) => <When at={startedAt} now={visitor.now} /> },
  {
    head: 'next run',
    isNumber: true,
    isLabelled: true,
    cell: ({ nextRun }) => (nextRun === null ? '' : <When at={nextRun} now={visitor.now} />),
  },
]

const CHOICE: Column<ListedContext> = {
  head: 'choose',
  control: <input type="checkbox" aria-label="Choose all of this page" data-all hidden />,
  cell: ({ id }) => <input type="checkbox" name="id" value={String(id)} aria-label={`Choose ${id}`} />,
}

const List: FC<{ readonly contexts: readonly ListedContext[]; readonly visitor: Visitor }> = ({
  contexts,
  visitor,
}) => <Table columns={columnsFor(visitor)} rows={contexts} idOf={({ id }) => `context-${id}`} part="rows" />

const StateOf: FC<{ readonly context: ListedContext }> = ({ context: { currentState, error } }) => (
  <>
    <span class="cut" title={currentState}>
      {currentState}
    </span>{' '}
    {error && (
      <span class="faint cut" title={`${error.type}: ${error.message}`}>
        {error.message}
      </span>
    )}
  </>
)

const Tags: FC<{ readonly tags: readonly string[] }> = ({ tags }) => (
  <>
    {tags.slice(0, MAX_TAGS).map((tag) => (
      <a class="tag" href={contextsHref({ tag })} title={tag}>
        {tag}
      </a>
    ))}
    {tags.length > MAX_TAGS && <small title={tags.slice(MAX_TAGS).join(', ')}>{` +${tags.length - MAX_TAGS}`}</small>}
  </>
)

const Counts: FC<{ readonly counts: ContextsFacts['counts']; readonly filters: ListFilters }> = ({
  counts,
  filters,
}) => (
  <p class="row" data-part="counts">
    {CONTEXT_STATUSES.filter((status) => (counts[status] ?? 0) > 0).map((status) => (
      <a href={contextsHref({ ...filters, status })} aria-current={filters['status'] === status ? 'true' : undefined}>
        <StatusSign status={status} /> {(counts[status] ?? 0).toLocaleString('en')}
      </a>
    ))}
  </p>
)

const Nothing: FC<{ readonly filters: ListFilters; readonly command: string | undefined }> = ({ filters, command }) =>
  Object.keys(filters).length === 0 ? (
    <Empty command={command}>
      No context is unfinished. Start one with the form of <a href="/inspector">a service</a>, or with the API.
    </Empty>
  ) : (
    <Empty>
      Nothing matches. <a href="/inspector/contexts?status=all">All contexts that are kept</a>
    </Empty>
  )
