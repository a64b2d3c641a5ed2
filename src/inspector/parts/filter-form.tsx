// inspector/parts: the filters of the list of contexts, as a form whose address is the list.
import type { FC } from 'hono/jsx'
import { CONTEXT_STATUSES } from '../../model/context.ts'

/** Filters by the names that the list of the API has. */
export type ListFilters = { readonly [name: string]: string }

const TEXT_FILTERS = [
  { name: 'tag', label: 'tag' },
  { name: 'key', label: 'key' },
  { name: 'currentState', label: 'state' },
  { name: 'errorType', label: 'error type' },
] as const

/** Those that are seldom used, by the names that the API has. */
const MORE_FILTERS = [
  'startState',
  'parent',
  'paused',
  'startedAfter',
  'startedBefore',
  'updatedAfter',
  'updatedBefore',
  'endedAfter',
  'endedBefore',
  'dueBefore',
] as const
const TIME = '2026-01-31T08:00Z'
const PLACEHOLDERS: { readonly [name in (typeof MORE_FILTERS)[number]]: string } = {
  startState: '',
  parent: 'id',
  paused: 'true or false',
  startedAfter: TIME,
  startedBefore: TIME,
  updatedAfter: TIME,
  updatedBefore: TIME,
  endedAfter: TIME,
  endedBefore: TIME,
  dueBefore: TIME,
}

export const FilterForm: FC<{ readonly filters: ListFilters; readonly services: readonly string[] }> = ({
  filters,
  services,
}) => (
  <form class="filters" method="get" action="/inspector/contexts" role="search" aria-label="Filters">
    <label>
      status
      <select name="status">
        <option value="">unfinished</option>
        <option value="all" selected={filters['status'] === 'all'}>
          all
        </option>
        {CONTEXT_STATUSES.map((status) => (
          <option value={status} selected={filters['status'] === status}>
            {status}
          </option>
        ))}
      </select>
    </label>
    <label>
      service
      <input name="fluxName" list="services" value={filters['fluxName'] ?? ''} autocomplete="off" />
    </label>
    <datalist id="services">
      {services.map((name) => (
        <option value={name} />
      ))}
    </datalist>
    {TEXT_FILTERS.map(({ name, label }) => (
      <label>
        {label}
        <input name={name} value={filters[name] ?? ''} data-filter={name === 'tag' ? true : undefined} />
      </label>
    ))}
    <label>
      order
      <select name="order">
        <option value="desc">newest first</option>
        <option value="asc" selected={filters['order'] === 'asc'}>
          oldest first
        </option>
      </select>
    </label>
    <details open={MORE_FILTERS.some((name) => filters[name] !== undefined)}>
      <summary>More</summary>
      <div class="filters">
        {MORE_FILTERS.map((name) => (
          <label>
            {name}
            <input name={name} value={filters[name] ?? ''} placeholder={PLACEHOLDERS[name]} />
          </label>
        ))}
      </div>
    </details>
    <button type="submit">Filter</button>
    {Object.keys(filters).length > 0 && <a href="/inspector/contexts">Clear</a>}
  </form>
)
