// engine/calls: `listWebhooks` lists the endpoints of the loaded services that the caller may see, with the counts of this
// server and the last delivery to any server.
import { check } from '../../api/check.ts'
import { LIST_WEBHOOKS, type ListWebhooksRequest, type WebhookView } from '../../api/list-webhooks.ts'
import { denial } from '../../model/caller.ts'
import type { DeliveryFacts, EndpointName } from '../webhooks/delivery-rows.ts'
import { NewestFirst, nextDelivery } from '../webhooks/newest-first.ts'
import type { CallEnv } from './call-env.ts'

/** Endpoints whose last delivery is read at once. */
const STRIDE = 16

/** See `FluxApi`. */
export async function listWebhooks(env: CallEnv, request: ListWebhooksRequest = {}): Promise<WebhookView[]> {
  check(LIST_WEBHOOKS, request)
  env.lists.take()
  try {
    return await viewsOf(env)
  } finally {
    env.lists.release()
  }
}

async function viewsOf(env: CallEnv): Promise<WebhookView[]> {
  const endpoints = env.webhooks.all().filter((endpoint) => isVisible(env, endpoint))
  const views: WebhookView[] = []
  for (let from = 0; from < endpoints.length; from += STRIDE)
    views.push(
      ...(await Promise.all(
        endpoints.slice(from, from + STRIDE).map(async (endpoint): Promise<WebhookView> => {
          const { urlPath, httpMethods, package: owner, fluxName, name, scheme } = endpoint
          const { counts } = env.deliveries.tallyOf(endpoint)
          const last = await lastOf(env, endpoint)
          const shown = { urlPath, httpMethods: [...httpMethods], package: owner, fluxName, name, scheme }
          return { ...shown, counts: { ...counts }, last: last && viewOfFacts(last) }
        }),
      )),
    )
  return views
}

/** Whether its service is not secured, or the caller may read those that are. */
export const isVisible = (
  { catalog, caller }: CallEnv,
  { package: owner, fluxName }: Omit<EndpointName, 'urlPath'>,
): boolean => catalog.find(owner, fluxName)?.secured !== true || denial(caller, 'read') === null

export const viewOfFacts = (facts: DeliveryFacts) => ({
  deliveryId: facts.deliveryId,
  method: facts.method,
  time: facts.time,
  outcome: facts.outcome,
  status: facts.status,
  duration: facts.duration,
  contextId: facts.contextId,
  replayOf: facts.replayOf,
  reason: facts.reason,
})

/** What was settled here last may not be written yet; what came later may be on another server. */
async function lastOf({ deliveries, store, log }: CallEnv, endpoint: EndpointName): Promise<DeliveryFacts | null> {
  const { last: known, prefix } = deliveries.tallyOf(endpoint)
  const stored = (await nextDelivery(new NewestFirst(store, [prefix], null), log))?.delivery ?? null
  return stored !== null && (known === null || stored.deliveryId > known.deliveryId) ? stored : known
}
