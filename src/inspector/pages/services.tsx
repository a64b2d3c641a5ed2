// inspector/pages: the services, with how many contexts each has.
import type { ServicesView } from '../../api/services.ts'
import { isObject } from '../../model/json/value.ts'
import { statusesIn, type ListFilters } from '../forms/filters.tsx'
import { Layout } from '../layout.tsx'
import { Empty } from '../parts/blocks.tsx'
import { contextsHref, fullNameOf, serviceLink } from '../parts/links.tsx'
import { numbers, Table, type Column } from '../parts/table.tsx'
import { When } from '../parts/time.tsx'
import type { PageRoutes } from '../routes.tsx'

type Service = ServicesView['services'][number]

export function addServicesPage(pages: PageRoutes): void {
  pages.get('/', async ({ api }) => {
    const { services, faults, loadedAt } = await api.listServices({})
    return (
      <Layout
        title="Services"
        lead={
          <p class="faint">
            {`${services.length} loaded `}
            <When at={loadedAt} />
          </p>
        }
        live=""
      >
        {faultNotice(faults.filter(({ severity }) => severity === 'fault'))}
        <div data-part="services">
          <Table
            columns={COLUMNS}
            rows={services}
            idOf={({ package: owner, fluxName }) => `service-${owner}-${fluxName}`}
            empty={
              <Empty command="npx actorflux init">
                There are no services. Put a .flux file into a folder of actors: that folder is its package. Or write a
                first one:
              </Empty>
            }
          />
        </div>
      </Layout>
    )
  })
}

/** A column of contexts, as many as their list with these filters has. */
const counted = (head: string, filters: ListFilters) =>
  numbers<Service>(head, (service) => {
    const count = statusesIn(filters).reduce((sum, status) => sum + (service.contexts[status] ?? 0), 0)
    if (count === 0) return <span class="faint">0</span>
    return (
      <a
        href={contextsHref({ fluxName: fullNameOf(service), ...filters })}
        class={head === 'failed' ? 'status failed' : undefined}
      >
        {count.toLocaleString('en')}
      </a>
    )
  })

const COLUMNS: readonly Column<Service>[] = [
  {
    head: 'service',
    class: 'lead',
    cell: ({ comment, secured, ...service }) => (
      <>
        {serviceLink(service)}
        {secured && <span class="tag">secured</span>}
        {comment !== null && (
          <p class="faint cut line" title={comment}>
            {comment.split('\n', 1)}
          </p>
        )}
      </>
    ),
  },
  {
    head: 'started by',
    cell: ({ triggers, webhooks }) =>
      [
        ...triggers.map((trigger) => String(isObject(trigger) ? trigger['event'] : trigger)),
        ...webhooks.map((webhook) => `/api${String(webhook['urlPath'])}`),
      ].map((name) => (
        <code class="tag" title={name}>
          {name}
        </code>
      )),
  },
  counted('unfinished', {}),
  counted('failed', { status: 'FAILED' }),
  counted('kept', { status: 'all' }),
]

const faultNotice = (faults: ServicesView['faults']) =>
  faults.length > 0 && (
    <div class="notice bad" role="alert">
      <p>The last load found faults. These services go on as they were:</p>
      <ul>
        {faults.map(({ file, pointer, line, column, reason }) => (
          <li>
            <code>{line === null ? `${file}${pointer}` : `${file}:${line}:${column}`}</code> {reason}
          </li>
        ))}
      </ul>
    </div>
  )
