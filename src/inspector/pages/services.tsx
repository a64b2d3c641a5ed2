// inspector/pages: the services, with how many contexts each has.
import type { FC } from 'hono/jsx'
import type { ServicesView } from '../../api/services.ts'
import { CONTEXT_STATUSES, isFinished, type Status } from '../../model/context.ts'
import { isObject } from '../../model/json/value.ts'
import { Layout } from '../layout.tsx'
import { Empty } from '../parts/blocks.tsx'
import { contextsHref, fullNameOf, ServiceLink } from '../parts/links.tsx'
import { Table, type Column } from '../parts/table.tsx'
import { When } from '../parts/time.tsx'
import type { PageRoutes } from '../routes.tsx'

type Service = ServicesView['services'][number]

export function addServicesPage(pages: PageRoutes): void {
  pages.get('/', 'plain', async ({ api }) => {
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
        <Faults faults={faults.filter(({ severity }) => severity === 'fault')} />
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

/** A column of contexts that have one of these statuses. */
const counted = (head: string, statuses: readonly Status[], status?: string): Column<Service> => ({
  head,
  isNumber: true,
  isLabelled: true,
  cell(service) {
    const count = statuses.reduce((sum, each) => sum + (service.contexts[each] ?? 0), 0)
    if (count === 0) return <span class="faint">0</span>
    const href = contextsHref({ fluxName: fullNameOf(service), ...(status !== undefined && { status }) })
    return (
      <a href={href} class={status === 'FAILED' ? 'status failed' : undefined}>
        {count.toLocaleString('en')}
      </a>
    )
  },
})

const COLUMNS: readonly Column<Service>[] = [
  {
    head: 'service',
    class: 'lead',
    cell: ({ comment, secured, ...service }) => (
      <>
        <ServiceLink service={service} />
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
  counted(
    'unfinished',
    CONTEXT_STATUSES.filter((status) => !isFinished(status)),
  ),
  counted('failed', ['FAILED'], 'FAILED'),
  counted('kept', CONTEXT_STATUSES, 'all'),
]

const Faults: FC<Pick<ServicesView, 'faults'>> = ({ faults }) =>
  faults.length === 0 ? null : (
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
