// inspector/pages: deliveries to webhooks, with what became of them and a way to send one again.
import type { FC } from 'hono/jsx'
import type { DeliveryView, WebhookView } from '../../api/webhooks.ts'
import { shellWord } from '../../model/start-command.ts'
import { DELIVERY_OUTCOMES } from '../../api/webhooks.ts'
import { Empty } from '../parts/command.tsx'
import { contextHref } from '../parts/links.ts'
import { jsonText } from '../parts/json-text.ts'
import { ServiceLink } from '../parts/service-link.tsx'
import { Older, Table, type Column } from '../parts/table.tsx'
import { durationText, When } from '../parts/time.tsx'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface DeliveriesFacts {
  readonly webhooks: readonly WebhookView[]
  readonly deliveries: readonly DeliveryView[]
  readonly filters: { readonly urlPath: string; readonly outcome: string }
  /** Address of the next page; null: this is the last. */
  readonly next: string | null
  /** What became of the one that was sent again. */
  readonly replayed: { readonly status: number | null; readonly contextId: number | null }
}

/** Characters of a request that a row shows. */
const MAX_REQUEST_CHARACTERS = 4000

export const DeliveriesPage: FC<DeliveriesFacts & { readonly visitor: Visitor }> = (facts) => {
  const { visitor, webhooks, deliveries, filters, next, replayed } = facts
  return (
    <Shell title="Deliveries" place="Deliveries" visitor={visitor}>
      <div class="head">
        <h1>Deliveries</h1>
        <p class="faint">Requests to the webhooks of services, and what became of them.</p>
      </div>
      {replayed.status !== null && (
        <p class="notice" role="status">
          {`Sent again: ${replayed.status}`}
          {replayed.contextId !== null && (
            <>
              , <a href={contextHref(replayed.contextId)}>{`context ${replayed.contextId}`}</a>
            </>
          )}
        </p>
      )}
      {webhooks.length === 0 ? (
        <Empty command="npx actorflux webhook test --help">
          No service has a webhook. Add one under "webhooks" in a .flux file; then play its provider:
        </Empty>
      ) : (
        <>
          <Webhooks webhooks={webhooks} now={visitor.now} />
          <FilterForm webhooks={webhooks} filters={filters} />
          {deliveries.length === 0 ? (
            <NoDelivery webhooks={webhooks} filters={filters} origin={visitor.origin} />
          ) : (
            <Table columns={columnsFor(visitor)} rows={deliveries} />
          )}
        </>
      )}
      <Older next={next} />
    </Shell>
  )
}

const NoDelivery: FC<Pick<DeliveriesFacts, 'webhooks' | 'filters'> & { readonly origin: string }> = ({
  webhooks,
  filters: { urlPath, outcome },
  origin,
}) =>
  urlPath === '' && outcome === '' ? (
    <Empty command={`npx actorflux webhook test ${shellWord(webhooks[0]?.urlPath ?? '')} --url ${origin}`}>
      No delivery is kept. Those that were refused are gone after a restart. Play a provider:
    </Empty>
  ) : (
    <Empty>
      No delivery matches. Those that were refused are gone after a restart.{' '}
      <a href="/inspector/deliveries">All deliveries</a>
    </Empty>
  )

const Webhooks: FC<{ readonly webhooks: readonly WebhookView[]; readonly now: number }> = ({ webhooks, now }) => (
  <section aria-labelledby="webhooks">
    <h2 id="webhooks">Webhooks</h2>
    <Table columns={webhookColumns(now)} rows={webhooks} />
  </section>
)

const webhookColumns = (now: number): readonly Column<WebhookView>[] => [
  {
    head: 'address',
    class: 'lead',
    cell: ({ httpMethods, urlPath }) => <code>{`${httpMethods.join('/')} /api${urlPath}`}</code>,
  },
  { head: 'service', cell: (webhook) => <ServiceLink service={webhook} /> },
  {
    head: 'verified by',
    isLabelled: true,
    cell: ({ scheme }) => scheme ?? <span class="status failed">nobody</span>,
  },
  { head: 'since this server started', isLabelled: true, cell: ({ counts }) => countsText(counts) },
  {
    head: 'last',
    isLabelled: true,
    cell: ({ last }) =>
      last ? (
        <>
          {last.outcome} <When at={last.time} now={now} />
        </>
      ) : (
        ''
      ),
  },
]

const countsText = (counts: WebhookView['counts']) =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${outcome} ${count.toLocaleString('en')}`)
    .join(', ') || <span class="faint">none</span>

const FilterForm: FC<Pick<DeliveriesFacts, 'webhooks' | 'filters'>> = ({ webhooks, filters }) => (
  <form class="filters" method="get" action="/inspector/deliveries" role="search" aria-label="Filters">
    <label>
      address
      <select name="urlPath">
        <option value="">all</option>
        {[...new Set(webhooks.map(({ urlPath }) => urlPath))].map((urlPath) => (
          <option value={urlPath} selected={urlPath === filters.urlPath}>
            {urlPath}
          </option>
        ))}
      </select>
    </label>
    <label>
      outcome
      <select name="outcome">
        <option value="">all</option>
        {DELIVERY_OUTCOMES.map((outcome) => (
          <option value={outcome} selected={outcome === filters.outcome}>
            {outcome}
          </option>
        ))}
      </select>
    </label>
    <button type="submit">Filter</button>
  </form>
)

const columnsFor = (visitor: Visitor): readonly Column<DeliveryView>[] => [
  {
    head: 'outcome',
    cell: ({ outcome, replayOf }) => (
      <>
        <span class={`status ${toneOfOutcome(outcome)}`}>{outcome}</span>
        {replayOf !== null && <span class="tag">replay</span>}
      </>
    ),
  },
  { head: 'address', cell: (delivery) => <Request delivery={delivery} /> },
  { head: 'answer', isNumber: true, isLabelled: true, cell: ({ status }) => status ?? '–' },
  {
    head: 'took',
    isNumber: true,
    isLabelled: true,
    cell: ({ duration }) => (duration === null ? '–' : durationText(duration)),
  },
  {
    head: 'context',
    isNumber: true,
    isLabelled: true,
    cell: ({ contextId }) => (contextId === null ? '' : <a href={contextHref(contextId)}>{contextId}</a>),
  },
  { head: 'when', isNumber: true, cell: ({ time }) => <When at={time} now={visitor.now} /> },
  { head: 'why', cell: ({ reason }) => reason ?? '' },
  ...(visitor.mayInvoke
    ? [
        {
          head: 'replay',
          isSilent: true,
          cell: (delivery: DeliveryView) => <Replay delivery={delivery} visitor={visitor} />,
        },
      ]
    : []),
]

/** Sign of each outcome: it went well, it did nothing, or it was refused. */
const toneOfOutcome = (outcome: DeliveryView['outcome']): string => {
  if (outcome === 'accepted' || outcome === 'handshake') return 'completed'
  return outcome === 'duplicate' || outcome === 'filtered' || outcome === 'ignored' ? 'terminated' : 'failed'
}

const Request: FC<{ readonly delivery: DeliveryView }> = ({ delivery: { method, urlPath, request } }) => {
  const name = <code>{`${method} ${urlPath}`}</code>
  if (request === null) return name
  return (
    <details>
      <summary>{name}</summary>
      <pre tabindex={0}>{jsonText(request, MAX_REQUEST_CHARACTERS, 2).text}</pre>
    </details>
  )
}

const Replay: FC<{ readonly delivery: DeliveryView; readonly visitor: Visitor }> = ({
  delivery: { deliveryId, outcome, request },
  visitor,
}) =>
  request !== null &&
  outcome !== 'handshake' && (
    <form method="post" action="/inspector/deliveries/replay">
      <FormToken visitor={visitor} />
      <input type="hidden" name="deliveryId" value={deliveryId} />
      <button type="submit" aria-label={`Replay ${deliveryId}`}>
        Replay
      </button>
    </form>
  )
