// engine/calls: `listWebhooks` lists the endpoints of the loaded services that the caller may see, with the counts of this
// server and the last delivery to any server. `listDeliveriesPage` returns a page of the deliveries to them, newest first:
// the stored ones of all servers, and those that this server has refused.
import type { CheckedCall } from '../../api/calls.ts'
import type { DeliveryPage, DeliveryView, WebhookView } from '../../api/webhooks.ts'
import { denial } from '../../model/caller.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe } from '../../model/texts.ts'
import { Turnstile } from '../../model/turnstile.ts'
import type { EndpointDescription } from '../../model/webhook.ts'
import {
  requestKeyOf,
  storedRequestOf,
  type DeliveryFacts,
  type EndpointName,
  type StoredDelivery,
} from '../deliveries/delivery-rows.ts'
import { NewestFirst, nextDelivery, type DeliveryRow } from '../deliveries/newest-first.ts'
import type { CallEnv } from './call-env.ts'
import { pageOf, positionOf } from './paging.ts'

/** Endpoints whose last delivery is read at once. */
const ENDPOINTS_AT_ONCE = 16
/** Deliveries after which others are served. */
const STRIDE = 64
/** After which a page ends: characters of requests, and bytes of memory that they take when parsed, about. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
const PAGE_BYTES = 16 * 1024 * 1024

/** See `FluxApi`. */
export const listWebhooks = (env: CallEnv): Promise<WebhookView[]> =>
  env.lists.run(() => {
    const turnstile = new Turnstile(ENDPOINTS_AT_ONCE)
    return Promise.all(visibleEndpoints(env).map((endpoint) => turnstile.run(() => webhookView(env, endpoint))))
  })

async function webhookView(env: CallEnv, endpoint: EndpointDescription): Promise<WebhookView> {
  const { urlPath, httpMethods, package: owner, fluxName, name, scheme } = endpoint
  const { counts, last: known, prefix } = env.deliveries.tallyOf(endpoint)
  const next = await nextDelivery(new NewestFirst(env.store, [prefix], null), env.log)
  const stored = next?.delivery ?? null
  // What was settled here last may not be written yet; what came later may be on another server.
  const last = stored !== null && (known === null || stored.deliveryId > known.deliveryId) ? stored : known
  const shown = { urlPath, httpMethods: [...httpMethods], package: owner, fluxName, name, scheme }
  return { ...shown, counts: { ...counts }, last: last && factsShown(last, tellsAll(env, endpoint)) }
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
 * the service does, so they may tell of secured services.
 */
const tellsAll = ({ catalog, caller }: CallEnv, { package: owner, fluxName, urlPath }: EndpointName): boolean =>
  denial(caller, 'read') === null ||
  // Deliveries to one path are listed together, whichever of its methods have `verify`.
  catalog.find(owner, fluxName)?.webhooks.every((one) => one.urlPath !== urlPath || one.verify === null) === true

/** Why a proof was not accepted tells nothing of what was sent. */
const factsShown = (facts: DeliveryFacts, isAll: boolean) => ({
  deliveryId: facts.deliveryId,
  method: facts.method,
  time: facts.time,
  outcome: facts.outcome,
  status: facts.status,
  duration: facts.duration,
  contextId: facts.contextId,
  replayOf: facts.replayOf,
  reason:
    isAll || facts.outcome === 'signature-invalid' || facts.reason === null
      ? facts.reason
      : "a token with the role 'read' shows why",
})

/** An endpoint whose deliveries are listed. `isAll`: see `tellsAll`. */
interface ListedEndpoint {
  readonly urlPath: string
  readonly isAll: boolean
}

/** A delivery of the list; without a row, it was refused and is in memory. `key`: its id. */
interface Listed {
  readonly key: string
  readonly characters: number
  readonly endpoint: ListedEndpoint
  readonly facts: DeliveryFacts
  readonly stored: { readonly row: DeliveryRow; readonly delivery: StoredDelivery } | null
}

/** See `FluxApi`. */
export async function listDeliveriesPage(
  env: CallEnv,
  { urlPath, outcome, ...asked }: CheckedCall<'listDeliveries'>,
): Promise<DeliveryPage> {
  const { skip, behind } = positionOf(asked)
  return env.lists.run(async () => {
    await env.deliveries.flush()
    const release = await env.turns.wait(PAGE_BYTES)
    env.reads?.add(release)
    try {
      const { views, next } = await pageOf(
        env,
        newestFirst(env, urlPath, behind),
        { skip, limit: asked.limit },
        ({ facts }) => outcome === undefined || facts.outcome === outcome,
        (one) => deliveryView(env, one),
      )
      return { deliveries: views, next }
    } finally {
      if (env.reads === undefined) release()
    }
  })
}

/** Stored and refused ones, newest first. */
async function* newestFirst(
  env: CallEnv,
  urlPath: string | undefined,
  behind: string | null,
): AsyncGenerator<Listed, void> {
  const endpoints = new Map<string, ListedEndpoint>()
  const refused: Listed[] = []
  for (const each of visibleEndpoints(env)) {
    const tally = env.deliveries.tallyOf(each)
    if ((urlPath ?? each.urlPath) !== each.urlPath || endpoints.has(tally.prefix)) continue
    const endpoint = { urlPath: each.urlPath, isAll: tellsAll(env, each) }
    endpoints.set(tally.prefix, endpoint)
    for (const facts of tally.refused())
      if (behind === null || facts.deliveryId < behind)
        refused.push({ key: facts.deliveryId, characters: 0, endpoint, facts, stored: null })
  }
  refused.sort((one, other) => (one.key < other.key ? -1 : 1))
  const rows = new NewestFirst(env.store, [...endpoints.keys()], behind)
  for (let looked = 1; ; looked += 1) {
    const stored = await nextDelivery(rows, env.log)
    while ((refused.at(-1)?.key ?? '') > (stored?.delivery.deliveryId ?? '')) yield* refused.splice(-1)
    if (stored === null) return
    const { row, delivery: facts } = stored
    const endpoint = endpoints.get(row.prefix)
    if (endpoint) yield { key: facts.deliveryId, characters: row.value.length, endpoint, facts, stored }
    // What the store has in memory it gives without a pause.
    if (looked % STRIDE === 0) await breathe(Infinity)
  }
}

async function deliveryView({ store }: CallEnv, { endpoint: { urlPath, isAll }, facts, stored }: Listed) {
  const { deliveryId, ...shown } = factsShown(facts, isAll)
  const own = isAll ? stored : null
  // A large request has a row of its own.
  const place = { space: 'deliveries', key: requestKeyOf(deliveryId) } as const
  const large = own && !own.delivery.request && (await store.readRow({ ...place, partition: own.row.partition }))
  const text = (large || own?.row)?.value ?? ''
  await breathe(text.length)
  const request = large ? storedRequestOf(large) : own?.delivery.request
  const view: DeliveryView = { deliveryId, urlPath, ...shown, request: request?.request ?? null }
  return { view, share: Math.max(text.length / PAGE_CHARACTERS, parsedBytes(text) / PAGE_BYTES) }
}
