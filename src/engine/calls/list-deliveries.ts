// engine/calls: `listDeliveriesPage` returns a page of the deliveries to endpoints of loaded services, newest first: the
// stored ones of all servers, and those that this server has refused. A request looks at a bounded number of them.
import type { CheckedCall } from '../../api/calls.ts'
import type { DeliveryPage, DeliveryView } from '../../api/webhooks.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe } from '../../model/texts.ts'
import type { DeliveryOutcome } from '../../model/webhook.ts'
import type { DeliveryTally } from '../deliveries/deliveries.ts'
import { requestKeyOf, storedRequestOf } from '../deliveries/delivery-rows.ts'
import type { KeptRequest } from '../deliveries/delivery-request.ts'
import { newestFirst, type ListedDelivery } from '../deliveries/newest-first.ts'
import type { CallEnv } from './call-env.ts'
import { isVisible, tellsAll, viewOfFacts } from './list-webhooks.ts'

/** Deliveries that one request looks at, and after how many others are served. */
const MAX_LOOKED = 10_000
const STRIDE = 64
/** After which a page ends: characters of requests, and bytes of memory that they take when parsed, about. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
const PAGE_BYTES = 16 * 1024 * 1024

interface Asked {
  readonly limit: number
  readonly outcome: DeliveryOutcome | undefined
  /** Matches to pass over. */
  skip: number
}

/** See `FluxApi`. */
export async function listDeliveriesPage(
  env: CallEnv,
  { urlPath, outcome, limit, page, after }: CheckedCall<'listDeliveries'>,
): Promise<DeliveryPage> {
  const colon = after?.indexOf(':') ?? 0
  const skip = after === undefined ? page * limit : Number(after.slice(0, colon))
  const behind = after?.slice(colon + 1) ?? null
  return env.lists.run(async () => {
    await env.deliveries.flush()
    const endpoints = listedEndpoints(env, urlPath)
    const all = newestFirst(env, [...endpoints.keys()], behind)
    const release = await env.turns.wait(PAGE_BYTES)
    env.reads?.add(release)
    try {
      return await pageOf(env, { limit, outcome, skip }, { all, endpoints })
    } finally {
      if (env.reads === undefined) release()
    }
  })
}

/** An endpoint whose deliveries are listed. */
interface ListedEndpoint {
  readonly urlPath: string
  /** See `tellsAll`. */
  readonly isAll: boolean
}

type ListedEndpoints = ReadonlyMap<DeliveryTally, ListedEndpoint>

/** The endpoints that are asked for. */
function listedEndpoints(env: CallEnv, urlPath: string | undefined): ListedEndpoints {
  const endpoints = new Map<DeliveryTally, ListedEndpoint>()
  for (const endpoint of env.webhooks.all())
    if ((urlPath === undefined || endpoint.urlPath === urlPath) && isVisible(env, endpoint))
      endpoints.set(env.deliveries.tallyOf(endpoint), { urlPath: endpoint.urlPath, isAll: tellsAll(env, endpoint) })
  return endpoints
}

async function pageOf(
  env: CallEnv,
  asked: Asked,
  { all, endpoints }: { readonly all: AsyncIterator<ListedDelivery>; readonly endpoints: ListedEndpoints },
): Promise<DeliveryPage> {
  const deliveries: DeliveryView[] = []
  let [characters, bytes, last] = [0, 0, '']
  for (let looked = 0; ; looked += 1) {
    if (looked >= MAX_LOOKED) return { deliveries, next: `${asked.skip}:${last}` }
    // What the store has in memory it gives without a pause.
    if (looked % STRIDE === STRIDE - 1) await breathe(Infinity)
    env.reads?.signal?.throwIfAborted()
    const { done, value: one } = await all.next()
    if (done === true) return { deliveries, next: null }
    if (asked.outcome === undefined || one.facts.outcome === asked.outcome) {
      if (asked.skip > 0) asked.skip -= 1
      else {
        const isFull = deliveries.length === asked.limit || characters > PAGE_CHARACTERS || bytes > PAGE_BYTES
        if (isFull) return { deliveries, next: `0:${last}` }
        const { urlPath = '', isAll = false } = endpoints.get(one.tally) ?? {}
        const { request, text } = isAll ? await requestOf(env, one) : HIDDEN
        const { deliveryId, ...facts } = viewOfFacts(one.facts, isAll)
        deliveries.push({ deliveryId, urlPath, ...facts, request: request?.request ?? null })
        characters += text.length
        bytes += parsedBytes(text)
      }
    }
    last = one.facts.deliveryId
  }
}

const HIDDEN = { request: null, text: '' }

/** `text`: what was parsed for it. */
async function requestOf(
  { store }: CallEnv,
  { facts, stored }: ListedDelivery,
): Promise<{ readonly request: KeptRequest | null; readonly text: string }> {
  if (stored === null) return HIDDEN
  const { partition, value, delivery } = stored
  if (delivery.request) return { request: delivery.request, text: value }
  const row = await store.readRow({ partition, space: 'deliveries', key: requestKeyOf(facts.deliveryId) })
  await breathe(row?.value.length ?? 0)
  return { request: row && storedRequestOf(row), text: row?.value ?? '' }
}
