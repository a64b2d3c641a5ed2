// inspector/pages: deliveries to webhooks, with what became of them and a way to send one again.
import type { FC } from 'hono/jsx'
import type { DeliveryView } from '../../api/list-deliveries.ts'
import type { WebhookView } from '../../api/list-webhooks.ts'
import { DELIVERY_OUTCOMES } from '../../model/webhook.ts'
import { Empty } from '../parts/command.tsx'
import { contextHref } from '../parts/links.ts'
import { durationText, When } from '../parts/time.tsx'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface DeliveriesFacts {
  readonly webhooks: readonly WebhookView[]
  readonly deliveries: readonly DeliveryView[]
  readonly filters: { readonly urlPath: string; readonly outcome: string }
  /** Address of the next page; null: this is the last. */
  readonly next: string | null
  readonly notice: string | null
}

/** Characters of a request that a row shows. */
const MAX_REQUEST_CHARACTERS = 4000

export const DeliveriesPage: FC<DeliveriesFacts & { readonly visitor: Visitor }> = (facts) => {
  const { visitor, webhooks, deliveries, filters, next, notice } = facts
  return (
    <Shell title="Deliveries" place="Deliveries" visitor={visitor}>
      <div class="head">
        <h1>Deliveries</h1>
        <p class="faint">Requests to the webhooks of services, and what became of them.</p>
      </div>
      {notice !== null && (
        <p class="notice" role="status">
          {notice}
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
            <Empty>No delivery matches. Those that were refused are kept in memory, and gone after a restart.</Empty>
          ) : (
            <Table deliveries={deliveries} visitor={visitor} />
          )}
        </>
      )}
      {next !== null && (
        <p>
          <a class="button" href={next} rel="next">
            Older
          </a>
        </p>
      )}
    </Shell>
  )
}

const Webhooks: FC<{ readonly webhooks: readonly WebhookView[]; readonly now: number }> = ({ webhooks, now }) => (
  <section aria-labelledby="webhooks">
    <h2 id="webhooks">Webhooks</h2>
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">address</th>
            <th scope="col">service</th>
            <th scope="col">verified by</th>
            <th scope="col">since this server started</th>
            <th scope="col">last</th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map(({ urlPath, httpMethods, fluxName, scheme, counts, last }) => (
            <tr>
              <td>
                <code>{`${httpMethods.join('/')} /api${urlPath}`}</code>
              </td>
              <td>{fluxName}</td>
              <td>{scheme ?? <span class="status failed">nobody</span>}</td>
              <td>
                {Object.entries(counts)
                  .filter(([, count]) => count > 0)
                  .map(([outcome, count]) => `${outcome} ${count.toLocaleString('en')}`)
                  .join(', ') || <span class="faint">none</span>}
              </td>
              <td>
                {last && (
                  <>
                    {last.outcome} <When at={last.time} now={now} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </section>
)

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

const Table: FC<{ readonly deliveries: readonly DeliveryView[]; readonly visitor: Visitor }> = ({
  deliveries,
  visitor,
}) => (
  <div class="scroll">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">outcome</th>
          <th scope="col">address</th>
          <th scope="col" class="num">
            answer
          </th>
          <th scope="col" class="num">
            took
          </th>
          <th scope="col" class="num">
            context
          </th>
          <th scope="col" class="num">
            when
          </th>
          <th scope="col">why</th>
          {visitor.mayInvoke && (
            <th scope="col">
              <span class="hidden">replay</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row delivery={delivery} visitor={visitor} />
        ))}
      </tbody>
    </table>
  </div>
)

/** Sign of each outcome: it went well, it did nothing, or it was refused. */
const toneOfOutcome = (outcome: DeliveryView['outcome']): string => {
  if (outcome === 'accepted' || outcome === 'handshake') return 'completed'
  return outcome === 'duplicate' || outcome === 'filtered' || outcome === 'ignored' ? 'terminated' : 'failed'
}

const Row: FC<{ readonly delivery: DeliveryView; readonly visitor: Visitor }> = ({ delivery, visitor }) => {
  const { deliveryId, outcome, urlPath, method, status, duration, contextId, time, reason, request, replayOf } =
    delivery
  return (
    <tr data-row>
      <td>
        <span class={`status ${toneOfOutcome(outcome)}`}>{outcome}</span>
        {replayOf !== null && <span class="tag">replay</span>}
      </td>
      <td>
        {request === null ? (
          <code>{`${method} ${urlPath}`}</code>
        ) : (
          <details>
            <summary>
              <code>{`${method} ${urlPath}`}</code>
            </summary>
            <pre tabindex={0}>{JSON.stringify(request, null, 2).slice(0, MAX_REQUEST_CHARACTERS)}</pre>
          </details>
        )}
      </td>
      <td class="num" data-name="answer">
        {status ?? '–'}
      </td>
      <td class="num" data-name="took">
        {duration === null ? '–' : durationText(duration)}
      </td>
      <td class="num" data-name={contextId === null ? undefined : 'context'}>
        {contextId === null ? '' : <a href={contextHref(contextId)}>{contextId}</a>}
      </td>
      <td class="num">
        <When at={time} now={visitor.now} />
      </td>
      <td>{reason}</td>
      {visitor.mayInvoke && (
        <td>
          {request !== null && outcome !== 'handshake' && (
            <form method="post" action="/inspector/deliveries/replay">
              <FormToken visitor={visitor} />
              <input type="hidden" name="deliveryId" value={deliveryId} />
              <button type="submit" aria-label={`Replay ${deliveryId}`}>
                Replay
              </button>
            </form>
          )}
        </td>
      )}
    </tr>
  )
}
