// inspector/parts: the addresses of pages.

export interface ServiceName {
  readonly package: string
  readonly fluxName: string
}

/** As filters name a service, and people: two packages may have one of the same name. */
export const fullNameOf = ({ package: owner, fluxName }: ServiceName): string => `${owner}/${fluxName}`

/** Address of a service. */
export const serviceHref = ({ package: owner, fluxName }: ServiceName): string =>
  `/inspector/services/${encodeURIComponent(owner)}/${encodeURIComponent(fluxName)}`

/** Address of a context, or of a part of its page. */
export const contextHref = (id: number | string, tab?: string): string =>
  `/inspector/contexts/${id}${tab === undefined ? '' : `?tab=${encodeURIComponent(tab)}`}`

/** Address of the list, with filters. */
export const contextsHref = (filters: { readonly [name: string]: string } = {}): string => {
  const query = new URLSearchParams(filters).toString()
  return query === '' ? '/inspector/contexts' : `/inspector/contexts?${query}`
}

/** Address of an operation, or of the list of them. */
export const operationHref = (operationId?: string): string =>
  operationId === undefined ? '/inspector/operations' : `/inspector/operations/${encodeURIComponent(operationId)}`

export const serviceLink = (service: ServiceName) => (
  <>
    <span class="faint">{service.package} / </span>
    <a class="cut" href={serviceHref(service)} title={fullNameOf(service)}>
      {service.fluxName}
    </a>
  </>
)
