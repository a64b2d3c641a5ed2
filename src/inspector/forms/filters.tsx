// inspector/forms: the filters of a list: in its address, so that a link is a view; as a form; and as a call has them.
// They are those that the API describes.
import type { Context } from 'hono'
import type { FC } from 'hono/jsx'
import { fieldSchema, fieldText, type Call, type RequestOf } from '../../api/call.ts'
import { CALLS } from '../../api/calls.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../../model/context.ts'
import { getOwn, isObject } from '../../model/json/value.ts'
import { Options } from './fields.tsx'

/** Texts by the names that the list of the API has. */
export type ListFilters = { readonly [name: string]: string }

/** The parameters of an address that are not empty; values of a repeated one are joined by commas. */
export const parametersOf = (c: Context): ListFilters =>
  Object.fromEntries(
    Object.entries(c.req.queries())
      .map(([name, values]) => [name, values.filter((value) => value !== '').join(',')] as const)
      .filter(([, value]) => value !== ''),
  )

/** Parameters of a list that say which page of it, and how it is shown. */
const NOT_FILTERS = new Set(['limit', 'page', 'after', 'before', 'order', 'view'])

const filterNames = ({ query }: Call): readonly string[] => Object.keys(query).filter((name) => !NOT_FILTERS.has(name))

/** Those that are filters of the list; any other parameter is left out: an old link may have it. */
export function filtersIn(parameters: ListFilters, list: Call = CALLS.listContexts): ListFilters {
  const names = filterNames(list)
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => names.includes(name)))
}

/** The statuses that a list with these filters has. */
export function statusesIn({ status }: ListFilters): readonly Status[] {
  const listed = status?.split(',') ?? []
  return CONTEXT_STATUSES.filter((each) =>
    listed.length === 0 ? !isFinished(each) : listed.includes('all') || listed.includes(each),
  )
}

/** The filters in words. */
export const filterText = (filters: object): string =>
  Object.entries(filters)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(', ') || 'all that are unfinished'

/** Filters of a list that the stream of moves has, too; it has none of times, and shows paused ones like others. */
export const streamFilters = (filters: ListFilters): string =>
  new URLSearchParams(Object.entries(filters).filter(([name]) => !/^paused$|After$|Before$/.test(name))).toString()

/** Texts as the fields of a request, which its call checks; those that are no fields of it are left out. */
export function typedTexts<C extends Call>(
  { query }: C,
  texts: { readonly [name: string]: string | undefined },
): RequestOf<C> {
  const fields: unknown[][] = Object.entries(query).flatMap(([name, type]) => {
    const text = texts[name]
    const { type: kind } = fieldSchema(type)
    return text === undefined ? [] : [[name, kind === 'array' ? text.split(',') : fieldText(text, kind)]]
  })
  return Object.fromEntries(fields)
}

interface FilterFormProps {
  /** Address of the list. */
  readonly action: string
  readonly filters: ListFilters
  readonly list: Call
  /** Names of those that are often used. */
  readonly common: readonly string[]
  /** Values that are there. */
  readonly known: { readonly [name: string]: readonly string[] }
}

/** A form whose address is the list. */
export const FilterForm: FC<FilterFormProps> = ({ action, filters, list, common, known }) => {
  const more = filterNames(list).filter((name) => !common.includes(name))
  const fieldOf = (name: string) => {
    const { label = name, empty = 'all', ...own }: Own = getOwn(OWN, name) ?? {}
    const { enum: values, items, type: kind, description = '' } = fieldSchema(list.query[name])
    const choices =
      own.choices ?? (kind === 'boolean' ? ['true', 'false'] : (values ?? (isObject(items) && items['enum'])))
    const value = filters[name] ?? ''
    const suggested = getOwn(known, name)
    return (
      <label title={String(description)}>
        {label}
        {Array.isArray(choices) ? (
          <select name={name}>
            <Options values={choices.map(String)} selected={value} texts={own.texts} empty={empty} />
          </select>
        ) : (
          <input name={name} value={value} list={suggested && `${name}-list`} autocomplete="off" />
        )}
        {suggested && (
          <datalist id={`${name}-list`}>
            {suggested.map((each) => (
              <option value={each} />
            ))}
          </datalist>
        )}
      </label>
    )
  }
  return (
    <form class="filters" method="get" action={action} role="search" aria-label="Filters">
      {common.map(fieldOf)}
      {more.length > 0 && (
        <details open={more.some((name) => filters[name])}>
          <summary>More</summary>
          <div class="filters">{more.map(fieldOf)}</div>
        </details>
      )}
      <button type="submit">Filter</button>
      {Object.keys(filters).length > 0 && <a href={action}>Clear</a>}
    </form>
  )
}

/** What the description of a filter does not say. */
interface Own {
  readonly label?: string
  readonly choices?: readonly string[]
  /** What choices are called. */
  readonly texts?: { readonly [choice: string]: string }
  /** What it means to leave it empty. */
  readonly empty?: string
}

const OWN: { readonly [name: string]: Own } = {
  status: { empty: 'unfinished' },
  fluxName: { label: 'service' },
  currentState: { label: 'state' },
  errorType: { label: 'error type' },
  urlPath: { label: 'address' },
  order: { choices: ['asc'], texts: { asc: 'oldest first' }, empty: 'newest first' },
}
