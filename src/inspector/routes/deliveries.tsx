// inspector/routes: the page of deliveries, and replay.
import type { Context, Hono } from 'hono'
import { DELIVERY_OUTCOMES } from '../../api/webhooks.ts'
import { DeliveriesPage } from '../pages/deliveries.tsx'
import { documentOf, type Pages } from './pages.ts'

const PAGE_LIMIT = 50

export function addDeliveriesPages(app: Hono, pages: Pages): void {
  app.get('/deliveries', (c) => pages.make('plain', () => list(c, pages)))
  app.post('/deliveries/replay', async (c) => {
    const { visitor, form } = await pages.changer(c)
    const { status, contextId } = await visitor.api.replayDelivery({ deliveryId: form.get('deliveryId')?.[0] ?? '' })
    return c.redirect(`/inspector/deliveries?done=${status}${contextId === null ? '' : `&context=${contextId}`}`, 303)
  })
}

async function list(c: Context, pages: Pages): Promise<Response> {
  const visitor = pages.visitor(c)
  const urlPath = c.req.query('urlPath') ?? ''
  const outcome = DELIVERY_OUTCOMES.find((each) => each === c.req.query('outcome'))
  const after = c.req.query('after')
  const [webhooks, { deliveries, next }] = await Promise.all([
    visitor.api.listWebhooks(),
    visitor.api.listDeliveriesPage({
      limit: PAGE_LIMIT,
      outcome,
      urlPath: urlPath === '' ? undefined : urlPath,
      after,
    }),
  ])
  const filters = { urlPath, outcome: outcome ?? '' }
  const query = new URLSearchParams({ ...filters, after: next ?? '' }).toString()
  const facts = {
    webhooks,
    deliveries,
    filters,
    next: next === null ? null : `/inspector/deliveries?${query}`,
    replayed: { status: numberIn(c, 'done'), contextId: numberIn(c, 'context') },
  }
  return documentOf(c, <DeliveriesPage {...facts} visitor={visitor} />)
}

/** Anybody can make an address, so nothing of it is shown but numbers. */
function numberIn(c: Context, name: string): number | null {
  const text = c.req.query(name) ?? ''
  return /^\d{1,16}$/.test(text) ? Number(text) : null
}
