// inspector/parts: leads to a service. Two packages may have one of the same name, so both names are shown.
import type { FC } from 'hono/jsx'
import { serviceHref } from './links.ts'

export const ServiceLink: FC<{ readonly service: { readonly package: string; readonly fluxName: string } }> = ({
  service: { package: owner, fluxName },
}) => (
  <>
    <span class="faint">{owner} / </span>
    <a class="cut" href={serviceHref(owner, fluxName)} title={`${owner}/${fluxName}`}>
      {fluxName}
    </a>
  </>
)
