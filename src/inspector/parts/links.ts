// inspector/parts: the addresses of pages.
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
