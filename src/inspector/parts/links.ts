// inspector/parts: the addresses of pages.
/** As filters name a service, and people: two packages may have one of the same name. */
export const fullNameOf = (service: { readonly package: string; readonly fluxName: string }): string =>
  `${service.package}/${service.fluxName}`

/** Of a service. */
export const serviceHref = (owner: string, fluxName: string): string =>
  `/inspector/services/${encodeURIComponent(owner)}/${encodeURIComponent(fluxName)}`

/** Of a context, or of a part of its page. */
export const contextHref = (id: number, tab?: string): string =>
  `/inspector/contexts/${id}${tab === undefined ? '' : `?tab=${encodeURIComponent(tab)}`}`

/** Of the list, with filters. */
export const contextsHref = (filters: { readonly [name: string]: string }): string => {
  const query = new URLSearchParams(filters).toString()
  return query === '' ? '/inspector/contexts' : `/inspector/contexts?${query}`
}

/** Of an operation, or of the list of them. */
export const operationHref = (operationId?: string): string =>
  operationId === undefined ? '/inspector/operations' : `/inspector/operations/${encodeURIComponent(operationId)}`

/** Filters of a list that the stream of moves has, too; it has none of times. */
const OF_STREAM: ReadonlySet<string> = new Set([
  'fluxName',
  'key',
  'tag',
  'status',
  'currentState',
  'startState',
  'errorType',
  'parent',
])

/** The query of the stream for a list with these filters. */
export const streamFilters = (filters: { readonly [name: string]: string }): string =>
  new URLSearchParams(Object.entries(filters).filter(([name]) => OF_STREAM.has(name))).toString()
