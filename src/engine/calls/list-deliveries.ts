// engine/calls: `listWebhooks` lists the endpoints of the loaded services that the caller may see, with the counts of
// this server and the last delivery to any server. `listDeliveriesPage` returns a page of the deliveries to them,
// newest first: the stored ones of all servers, and those that this server has refused.
import type { CheckedCall } from '../../api/calls.ts'
import type { DeliveryPage, DeliveryView, WebhookView } from '../../api/webhooks.ts'
import { denial } from '../../model/caller.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { EndpointDescription } from '../../model/webhook.ts'
import {
  newestFirst,
  requestKeyOf,
  storedRequestOf,
  type DeliveryFacts,
  type DeliveryTally,
  type EndpointName,
  type ListedDelivery,
} from '../deliveries/deliveries.ts'
import type { CallEnv } from './call-env.ts'
import { pageOf } from './paging.ts'

/** Endpoints whose last delivery is read at once. */
const ENDPOINTS_AT_ONCE = 16
/** Deliveries after which others are served. */
const STRIDE = 64
/** After which a page ends: characters of requests, and bytes of memory that they take when parsed, about. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
const PAGE_BYTES = 16 * 1024 * 1024

/** See `FluxApi`. */
export const listWebhooks = (env: CallEnv): Promise<WebhookView[]> =>
  env.lists.run(async () => {
    await env.deliveries.flush()
    const turnstile = new Turnstile(ENDPOINTS_AT_ONCE)
    return Promise.all(visibleEndpoints(env).map((endpoint) => turnstile.run(() => webhookView(env, endpoint))))
  })

async function webhookView(env: CallEnv, endpoint: EndpointDescription) {
  const { urlPath, httpMethods, package: owner, fluxName, name, scheme } = endpoint
  const tally = env.deliveries.tallyOf(endpoint)
  const { value: last } = await newestFirst(env, [tally], null).next()
  return {
    urlPath,
    httpMethods: [...httpMethods],
    package: owner,
    fluxName,
    name,
    scheme,
    counts: { ...tally.counts },
    last: last ? factsShown(last.facts, tellsAll(env, endpoint)) : null,
  }
}

/** Those of services that are not secured, and of others where the caller may read these. */
export const visibleEndpoints = ({ catalog, caller }: CallEnv): readonly EndpointDescription[] =>
  catalog
    .endpoints()
    .all.filter(
      ({ package: owner, fluxName }) =>
        catalog.find(owner, fluxName)?.secured !== true || denial(caller, 'read') === null,
    )

/**
 * Whether the caller may see what was sent to the endpoint, and what became of it. Requests that passed `verify` act as
 * the service does, so they may concern secured services.
 */
const tellsAll = ({ catalog, caller }: CallEnv, { package: owner, fluxName, urlPath }: EndpointName) =>
  denial(caller, 'read') === null ||
  // Deliveries to one path are listed together, whichever of its methods have `verify`.
  catalog.find(owner, fluxName)?.webhooks.every((one) => one.urlPath !== urlPath || one.verify === null) === true

/** The reason why a proof was not accepted contains nothing of the request. */
const factsShown = (facts: DeliveryFacts, isAll: boolean) =>
  isAll || facts.outcome === 'signature-invalid' || facts.reason === null
    ? facts
    : { ...facts, reason: "a token with the role 'read' shows why" }

interface Listed extends ListedDelivery {
  readonly key: string
  readonly characters: number
  readonly endpoint: EndpointName
}

/** See `FluxApi`. */
export async function listDeliveriesPage(
  env: CallEnv,
  { urlPath, outcome, ...asked }: CheckedCall<'listDeliveries'>,
): Promise<DeliveryPage> {
  return env.lists.run(async () => {
    await env.deliveries.flush()
    const release = await env.turns.wait(PAGE_BYTES)
    env.reads?.add(release)
    try {
      const { views, next } = await pageOf(
        env,
        asked,
        async (behind) => deliveriesOf(env, urlPath, behind),
        async ({ facts }) => outcome === undefined || facts.outcome === outcome,
        (one) => deliveryView(env, one),
      )
      return { deliveries: views, next }
    } finally {
      if (env.reads === undefined) release()
    }
  })
}

/** Those of the endpoints that are asked for, newest first. */
async function* deliveriesOf(env: CallEnv, urlPath: string | undefined, behind: string | null) {
  const endpoints = new Map<DeliveryTally, EndpointName>()
  for (const endpoint of visibleEndpoints(env))
    if ((urlPath ?? endpoint.urlPath) === endpoint.urlPath) endpoints.set(env.deliveries.tallyOf(endpoint), endpoint)
  let looked = 0
  for await (const one of newestFirst(env, [...endpoints.keys()], behind)) {
    const endpoint = endpoints.get(one.tally)
    if (endpoint) yield { ...one, key: one.facts.deliveryId, characters: one.stored?.value.length ?? 0, endpoint }
    looked += 1
    // What the store has in memory it gives without a pause.
    if (looked % STRIDE === 0) await breathe(Infinity)
  }
}

async function deliveryView(env: CallEnv, { endpoint, facts, stored }: Listed) {
  const isAll = tellsAll(env, endpoint)
  const { deliveryId, ...shown } = factsShown(facts, isAll)
  const own = isAll ? stored : null
  // A large request has a row of its own.
  const place = { space: 'deliveries', key: requestKeyOf(deliveryId) } as const
  const large = own && !own.delivery.request && (await env.store.readRow({ ...place, partition: own.partition }))
  const text = (large || own)?.value ?? ''
  await breathe(text.length)
  const request = large ? storedRequestOf(large) : own?.delivery.request
  const view: DeliveryView = { deliveryId, urlPath: endpoint.urlPath, ...shown, request: request?.request ?? null }
  return { view, share: Math.max(text.length / PAGE_CHARACTERS, parsedBytes(text) / PAGE_BYTES) }
}
