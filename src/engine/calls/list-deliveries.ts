// engine/calls: `listDeliveriesPage` returns a page of the deliveries to endpoints of loaded services, newest first: the
// stored ones of all servers, and those that this server has refused. A request looks at a bounded number of them.
import type { CheckedCall } from '../../api/calls.ts'
import type { DeliveryPage, DeliveryView } from '../../api/webhooks.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import { breathe } from '../../model/texts.ts'
import type { DeliveryOutcome } from '../../model/webhook.ts'
import { requestKeyOf, storedRequestOf, type DeliveryFacts, type StoredDelivery } from '../deliveries/delivery-rows.ts'
import type { KeptRequest } from '../deliveries/delivery-request.ts'
import type { DeliveryTally } from '../deliveries/delivery-tally.ts'
import { NewestFirst, nextDelivery } from '../deliveries/newest-first.ts'
import { RefusedDeliveries } from '../deliveries/refused-deliveries.ts'
import type { CallEnv } from './call-env.ts'
import { isVisible, tellsAll, viewOfFacts } from './list-webhooks.ts'

/** Deliveries that one request looks at, and after how many others are served. */
const MAX_LOOKED = 10_000
const STRIDE = 64
/** After which a page ends: characters of requests, and bytes of memory that they take when parsed, about. */
const PAGE_CHARACTERS = 2 * 1024 * 1024
const PAGE_BYTES = 16 * 1024 * 1024

/** A delivery of the list, in memory or stored. */
interface Listed {
  readonly prefix: string
  readonly facts: DeliveryFacts
  readonly stored: { readonly partition: number; readonly value: string; readonly delivery: StoredDelivery } | null
}

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
    const { endpoints, refused } = known(env, urlPath, behind)
    const rows = new NewestFirst(env.store, [...endpoints.keys()], behind)
    const release = await env.turns.wait(PAGE_BYTES)
    env.reads?.add(release)
    try {
      return await pageOf(env, { limit, outcome, skip }, { all: new Merged(env, rows, refused), endpoints })
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

interface Known {
  /** By what the keys of an endpoint begin with. */
  readonly endpoints: ReadonlyMap<string, ListedEndpoint>
  readonly refused: RefusedDeliveries
}

/** The endpoints that are asked for, with what this server has refused. */
function known(env: CallEnv, urlPath: string | undefined, behind: string | null): Known {
  const endpoints = new Map<string, ListedEndpoint>()
  const tallies: DeliveryTally[] = []
  for (const endpoint of env.webhooks.all()) {
    if ((urlPath !== undefined && endpoint.urlPath !== urlPath) || !isVisible(env, endpoint)) continue
    const tally = env.deliveries.tallyOf(endpoint)
    if (endpoints.has(tally.prefix)) continue
    endpoints.set(tally.prefix, { urlPath: endpoint.urlPath, isAll: tellsAll(env, endpoint) })
    tallies.push(tally)
  }
  return { endpoints, refused: new RefusedDeliveries(tallies, behind) }
}

/** Stored and refused ones, newest first. */
class Merged {
  readonly #env: CallEnv
  readonly #rows: NewestFirst
  readonly #refused: RefusedDeliveries
  #ahead: Listed | null | undefined

  constructor(env: CallEnv, rows: NewestFirst, refused: RefusedDeliveries) {
    this.#env = env
    this.#rows = rows
    this.#refused = refused
  }

  async next(): Promise<Listed | null> {
    this.#ahead = this.#ahead === undefined ? await this.#stored() : this.#ahead
    const [stored, refused] = [this.#ahead, this.#refused.newest]
    if (refused && (stored === null || refused.facts.deliveryId > stored.facts.deliveryId)) {
      this.#refused.drop()
      return { ...refused, stored: null }
    }
    this.#ahead = stored === null ? null : undefined
    return stored
  }

  async #stored(): Promise<Listed | null> {
    const next = await nextDelivery(this.#rows, this.#env.log)
    if (next === null) return null
    const { row, delivery } = next
    const { prefix, partition, value } = row
    return { prefix, facts: delivery, stored: { partition, value, delivery } }
  }
}

async function pageOf(
  env: CallEnv,
  asked: Asked,
  { all, endpoints }: { readonly all: Merged } & Pick<Known, 'endpoints'>,
): Promise<DeliveryPage> {
  const deliveries: DeliveryView[] = []
  let [characters, bytes, last] = [0, 0, '']
  for (let looked = 0; ; looked += 1) {
    if (looked >= MAX_LOOKED) return { deliveries, next: `${asked.skip}:${last}` }
    // What the store has in memory it gives without a pause.
    if (looked % STRIDE === STRIDE - 1) await breathe(Infinity)
    env.reads?.signal?.throwIfAborted()
    const one = await all.next()
    if (one === null) return { deliveries, next: null }
    if (asked.outcome === undefined || one.facts.outcome === asked.outcome) {
      if (asked.skip > 0) asked.skip -= 1
      else {
        const isFull = deliveries.length === asked.limit || characters > PAGE_CHARACTERS || bytes > PAGE_BYTES
        if (isFull) return { deliveries, next: `0:${last}` }
        const { urlPath = '', isAll = false } = endpoints.get(one.prefix) ?? {}
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
  { facts, stored }: Listed,
): Promise<{ readonly request: KeptRequest | null; readonly text: string }> {
  if (stored === null) return { request: null, text: '' }
  const { partition, value, delivery } = stored
  if (delivery.request) return { request: delivery.request, text: value }
  const row = await store.readRow({ partition, space: 'deliveries', key: requestKeyOf(facts.deliveryId) })
  await breathe(row?.value.length ?? 0)
  return { request: row && storedRequestOf(row), text: row?.value ?? '' }
}
