// engine/calls: `listWebhooks` lists the endpoints of the loaded services that the caller may see, with the counts of this
// server and the last delivery to any server.
import type { WebhookView } from '../../api/webhooks.ts'
import { denial } from '../../model/caller.ts'
import type { DeliveryFacts, EndpointName } from '../deliveries/delivery-rows.ts'
import { storedDeliveries } from '../deliveries/newest-first.ts'
import type { CallEnv } from './call-env.ts'

/** Endpoints whose last delivery is read at once. */
const STRIDE = 16

/** See `FluxApi`. */
export async function listWebhooks(env: CallEnv): Promise<WebhookView[]> {
  return env.lists.run(() => viewsOf(env))
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
          return { ...shown, counts: { ...counts }, last: last && viewOfFacts(last, tellsAll(env, endpoint)) }
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

/**
 * Whether the caller may see what was sent to the endpoint, and what became of it. Requests that passed `verify` act as
 * the service does, so they may tell of secured services.
 */
export const tellsAll = ({ catalog, caller }: CallEnv, { package: owner, fluxName, urlPath }: EndpointName): boolean =>
  denial(caller, 'read') === null ||
  // Deliveries to one path are listed together, whichever of its methods have `verify`.
  catalog.find(owner, fluxName)?.webhooks.every((one) => one.urlPath !== urlPath || one.verify === null) === true

const FOR_READERS = "a token with the role 'read' shows why"

/** Why a proof was not accepted tells nothing of what was sent. */
const reasonOf = ({ outcome, reason }: DeliveryFacts, isAll: boolean): string | null =>
  isAll || outcome === 'signature-invalid' || reason === null ? reason : FOR_READERS

/** @param isAll see `tellsAll` */
export const viewOfFacts = (facts: DeliveryFacts, isAll: boolean) => ({
  deliveryId: facts.deliveryId,
  method: facts.method,
  time: facts.time,
  outcome: facts.outcome,
  status: facts.status,
  duration: facts.duration,
  contextId: facts.contextId,
  replayOf: facts.replayOf,
  reason: reasonOf(facts, isAll),
})

/** What was settled here last may not be written yet; what came later may be on another server. */
async function lastOf(env: CallEnv, endpoint: EndpointName): Promise<DeliveryFacts | null> {
  const tally = env.deliveries.tallyOf(endpoint)
  const { value: stored } = await storedDeliveries(env, tally, null).next()
  return stored && (tally.last === null || stored.facts.deliveryId > tally.last.deliveryId) ? stored.facts : tally.last
}
