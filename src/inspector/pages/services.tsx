// inspector/pages: the services, with how many contexts each has.
import type { FC } from 'hono/jsx'
import type { ServicesView } from '../../api/services.ts'
import { Empty } from '../parts/command.tsx'
import { contextsHref, fullNameOf } from '../parts/links.ts'
import { ServiceLink } from '../parts/service-link.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { When } from '../parts/time.tsx'
import { Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

type Service = ServicesView['services'][number]

export const ServicesPage: FC<{ readonly visitor: Visitor; readonly view: ServicesView }> = ({ visitor, view }) => (
  <Shell title="Services" place="Services" visitor={visitor} live="">
    <div class="head">
      <h1>Services</h1>
      <p class="faint">
        {`${view.services.length} loaded `}
        <When at={view.loadedAt} now={visitor.now} />
      </p>
    </div>
    <Faults faults={view.faults} />
    {view.services.length === 0 ? (
      <Empty command="npx actorflux init">
        There are no services. Put a .flux file into a folder of actors: that folder is its package. Or write a first
        one:
      </Empty>
    ) : (
      <div data-part="services">
        <Table
          columns={COLUMNS}
          rows={view.services}
          idOf={({ package: owner, fluxName }) => `service-${owner}-${fluxName}`}
        />
      </div>
    )}
  </Shell>
)

const unfinishedOf = ({ contexts }: Service): number => {
  const { RUNNING = 0, WAITING = 0, WAITING_UNTIL = 0 } = contexts
  return RUNNING + WAITING + WAITING_UNTIL
}

const keptOf = ({ contexts }: Service): number => Object.values(contexts).reduce((sum, count) => sum + (count ?? 0), 0)

const counted = (
  head: string,
  countOf: (service: Service) => number,
  status: { readonly status?: string } = {},
): Column<Service> => ({
  head,
  isNumber: true,
  isLabelled: true,
  cell: (service) => {
    const count = countOf(service)
    if (count === 0) return <span class="faint">0</span>
    return (
      <a
        href={contextsHref({ fluxName: fullNameOf(service), ...status })}
        class={status.status === 'FAILED' ? 'status failed' : undefined}
      >
        {count.toLocaleString('en')}
      </a>
    )
  },
})

const COLUMNS: readonly Column<Service>[] = [
  { head: 'service', class: 'lead', cell: (service) => <Name service={service} /> },
  {
    head: 'started by',
    cell: ({ triggers, webhooks }) => {
      const names = [...triggers.map(eventOf), ...webhooks.map((webhook) => `/api${String(webhook['urlPath'])}`)]
      return names.length === 0
        ? ''
        : names.map((name) => (
            <code class="tag" title={name}>
              {name}
            </code>
          ))
    },
  },
  counted('unfinished', unfinishedOf),
  counted('failed', ({ contexts }) => contexts.FAILED ?? 0, { status: 'FAILED' }),
  counted('kept', keptOf, { status: 'all' }),
]

const Name: FC<{ readonly service: Service }> = ({ service }) => (
  <>
    <ServiceLink service={service} />
    {service.secured && <span class="tag">secured</span>}
    {service.comment !== null && (
      <p class="faint cut line" title={service.comment}>
        {firstLine(service.comment)}
      </p>
    )}
  </>
)

const Faults: FC<{ readonly faults: ServicesView['faults'] }> = ({ faults }) => {
  const bad = faults.filter(({ severity }) => severity === 'fault')
  if (bad.length === 0) return null
  return (
    <div class="notice bad" role="alert">
      <p>The last load found faults. These services go on as they were:</p>
      <ul>
        {bad.map(({ file, pointer, line, column, reason }) => (
          <li>
            <code>{line === null ? `${file}${pointer}` : `${file}:${line}:${column}`}</code> {reason}
          </li>
        ))}
      </ul>
    </div>
  )
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

const eventOf = (trigger: Service['triggers'][number]): string => {
  if (typeof trigger === 'string') return trigger
  return typeof trigger === 'object' && trigger !== null && !Array.isArray(trigger) ? String(trigger['event']) : ''
}
