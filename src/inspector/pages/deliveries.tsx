// inspector/pages: deliveries to webhooks, with what became of them and a way to send one again.
import type { Context } from 'hono'
import { CALLS } from '../../api/calls.ts'
import type { DeliveryView, WebhookView } from '../../api/webhooks.ts'
import { shellWord } from '../../model/start-command.ts'
import { Layout, PostForm } from '../layout.tsx'
import { Empty, faint, Section } from '../parts/blocks.tsx'
import { jsonText } from '../parts/cut-text.tsx'
import { FilterForm, filtersIn, parametersOf, typedTexts } from '../forms/filters.tsx'
import { contextHref } from '../parts/links.tsx'
import { numbers, SERVICE, Table, times, type Column } from '../parts/table.tsx'
import { durationText, When } from '../parts/time.tsx'
import type { PageRoutes } from '../routes.tsx'
import type { Viewer } from '../viewer.ts'

const PAGE_LIMIT = 50
const HREF = '/inspector/deliveries'
/** Characters of a request that a row shows. */
const MAX_REQUEST_CHARACTERS = 4000

export function addDeliveriesPage(pages: PageRoutes): void {
  pages.get('/deliveries', list)
  pages.post('/deliveries/replay', {
    async run({ viewer, text }) {
      const { status, contextId } = await viewer.api.replayDelivery({ deliveryId: text('deliveryId') })
      return `${HREF}?done=${status}${contextId === null ? '' : `&context=${contextId}`}`
    },
  })
}

async function list({ api, origin, may }: Viewer, c: Context) {
  const { after, ...parameters } = parametersOf(c)
  const filters = filtersIn(parameters, CALLS.listDeliveries)
  const [webhooks, { deliveries, next }] = await Promise.all([
    api.listWebhooks(),
    api.listDeliveriesPage({ ...typedTexts(CALLS.listDeliveries, { ...filters, after }), limit: PAGE_LIMIT }),
  ])
  return (
    <Layout title="Deliveries" lead={faint('Requests to the webhooks of services, and what became of them.')}>
      {replayNotice(numberIn(c, 'done'), numberIn(c, 'context'))}
      {webhooks.length > 0 && (
        <>
          <Section id="webhooks" title="Webhooks">
            <Table columns={WEBHOOK_COLUMNS} rows={webhooks} />
          </Section>
          <FilterForm
            action={HREF}
            filters={filters}
            list={CALLS.listDeliveries}
            common={['urlPath', 'outcome']}
            known={{ urlPath: [...new Set(webhooks.map((webhook) => webhook.urlPath))] }}
          />
        </>
      )}
      <Table
        columns={may('invoke') ? [...COLUMNS, REPLAY] : COLUMNS}
        rows={deliveries}
        empty={nothing(webhooks, Object.keys(filters).length > 0, origin)}
        next={next === null ? null : `${HREF}?${new URLSearchParams({ ...filters, after: next }).toString()}`}
      />
    </Layout>
  )
}

function nothing([first]: readonly WebhookView[], isFiltered: boolean, origin: string) {
  if (!first)
    return (
      <Empty command="npx actorflux webhook test --help">
        No service has a webhook. Add one under "webhooks" in a .flux file; then play its provider:
      </Empty>
    )
  if (isFiltered)
    return (
      <Empty>
        No delivery matches. Those that were refused are gone after a restart. <a href={HREF}>All deliveries</a>
      </Empty>
    )
  return (
    <Empty command={`npx actorflux webhook test ${shellWord(first.urlPath)} --url ${origin}`}>
      No delivery is kept. Those that were refused are gone after a restart. Play a provider:
    </Empty>
  )
}

/** An address may come from any page, so nothing of it is shown but numbers. */
const numberIn = (c: Context, name: string) => /^\d{1,16}$/.exec(c.req.query(name) ?? '')?.[0]

/** What became of a delivery that was sent again. */
const replayNotice = (status: string | undefined, contextId: string | undefined) =>
  status && (
    <p class="notice" role="status">
      {`Sent again: ${status}`}
      {contextId && (
        <>
          , <a href={contextHref(contextId)}>{`context ${contextId}`}</a>
        </>
      )}
    </p>
  )

const WEBHOOK_COLUMNS: readonly Column<WebhookView>[] = [
  {
    head: 'address',
    class: 'lead',
    cell: ({ httpMethods, urlPath }) => <code>{`${httpMethods.join('/')} /api${urlPath}`}</code>,
  },
  SERVICE,
  {
    head: 'verified by',
    isLabelled: true,
    cell: ({ scheme }) => scheme ?? <span class="status failed">not verified</span>,
  },
  {
    head: 'since this server started',
    isLabelled: true,
    cell: ({ counts }) =>
      Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([outcome, count]) => `${outcome} ${count.toLocaleString('en')}`)
        .join(', ') || <span class="faint">none</span>,
  },
  {
    head: 'last',
    isLabelled: true,
    cell: ({ last }) =>
      last && (
        <>
          {last.outcome} <When at={last.time} />
        </>
      ),
  },
]

/** Sign of each outcome that isn't a refusal: it went well, or it did nothing. */
const TONES: { readonly [outcome in DeliveryView['outcome']]?: string } = {
  accepted: 'completed',
  handshake: 'completed',
  duplicate: 'terminated',
  filtered: 'terminated',
  ignored: 'terminated',
}

const COLUMNS: readonly Column<DeliveryView>[] = [
  {
    head: 'outcome',
    cell: ({ outcome, replayOf }) => (
      <>
        <span class={`status ${TONES[outcome] ?? 'failed'}`}>{outcome}</span>
        {replayOf !== null && <span class="tag">replay</span>}
      </>
    ),
  },
  {
    head: 'address',
    cell({ method, urlPath, request }) {
      const name = <code>{`${method} ${urlPath}`}</code>
      if (request === null) return name
      return (
        <details>
          <summary>{name}</summary>
          <pre tabindex={0}>{jsonText(request, MAX_REQUEST_CHARACTERS, 2).text}</pre>
        </details>
      )
    },
  },
  numbers('answer', ({ status }) => status ?? '–'),
  numbers('took', ({ duration }) => (duration === null ? '–' : durationText(duration))),
  numbers('context', ({ contextId }) => contextId && <a href={contextHref(contextId)}>{contextId}</a>),
  times('when', ({ time }) => time),
  { head: 'why', cell: ({ reason }) => reason },
]

const REPLAY: Column<DeliveryView> = {
  head: 'replay',
  control: <span class="hidden">replay</span>,
  cell: ({ deliveryId, outcome, request }) =>
    request !== null &&
    outcome !== 'handshake' && (
      <PostForm
        action={`${HREF}/replay`}
        values={{ deliveryId }}
        submit="Replay"
        does={`Replay ${deliveryId}`}
        tone="plain"
      />
    ),
}
