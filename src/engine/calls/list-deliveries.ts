// engine/calls: `listDeliveriesPage` returns a page of the deliveries to endpoints of loaded services, newest first: the
// stored ones of all servers, and those that this server has refused. A request looks at a bounded number of them.
import { check } from '../../api/check.ts'
import {
  LIST_DELIVERIES,
  type DeliveriesRequest,
  type DeliveryPage,
  type DeliveryView,
} from '../../api/list-deliveries.ts'
import { parsedBytes } from '../../model/json/weight.ts'
import type { DeliveryOutcome } from '../../model/webhook.ts'
import { requestKeyOf, storedRequestOf, type DeliveryFacts, type StoredDelivery } from '../webhooks/delivery-rows.ts'
import type { KeptRequest } from '../webhooks/delivery-request.ts'
import type { DeliveryTally } from '../webhooks/delivery-tally.ts'
import { NewestFirst, nextDelivery } from '../webhooks/newest-first.ts'
import { RefusedDeliveries } from '../webhooks/refused-deliveries.ts'
import type { CallEnv } from './call-env.ts'
import { isVisible, viewOfFacts } from './list-webhooks.ts'

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
export async function listDeliveriesPage(env: CallEnv, given: DeliveriesRequest = {}): Promise<DeliveryPage> {
  const { urlPath, outcome, limit, page, after } = check(LIST_DELIVERIES, given)
  const colon = after?.indexOf(':') ?? 0
  const skip = after === undefined ? page * limit : Number(after.slice(0, colon))
  const behind = after?.slice(colon + 1) ?? null
  env.lists.take()
  try {
    await env.deliveries.flush()
    const { paths, refused } = known(env, urlPath, behind)
    const rows = new NewestFirst(env.store, [...paths.keys()], behind)
    return await pageOf(env, { limit, outcome, skip }, { all: new Merged(env, rows, refused), paths })
  } finally {
    env.lists.release()
  }
}

interface Known {
  /** By what the keys of an endpoint begin with. */
  readonly paths: ReadonlyMap<string, string>
  readonly refused: RefusedDeliveries
}

/** The endpoints that are asked for, with what this server has refused. */
function known(env: CallEnv, urlPath: string | undefined, behind: string | null): Known {
  const paths = new Map<string, string>()
  const tallies: DeliveryTally[] = []
  for (const endpoint of env.webhooks.all()) {
    if ((urlPath !== undefined && endpoint.urlPath !== urlPath) || !isVisible(env, endpoint)) continue
    const tally = env.deliveries.tallyOf(endpoint)
    if (paths.has(tally.prefix)) continue
    paths.set(tally.prefix, endpoint.urlPath)
    tallies.push(tally)
  }
  return { paths, refused: new RefusedDeliveries(tallies, behind) }
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
  { all, paths }: { readonly all: Merged; readonly paths: ReadonlyMap<string, string> },
): Promise<DeliveryPage> {
  const deliveries: DeliveryView[] = []
  let [characters, bytes, last] = [0, 0, '']
  for (let looked = 0; ; looked += 1) {
    if (looked >= MAX_LOOKED) return { deliveries, next: `${asked.skip}:${last}` }
    // What the store has in memory it gives without a pause.
    if (looked % STRIDE === STRIDE - 1) await env.listTurns.next()
    const one = await all.next()
    if (one === null) return { deliveries, next: null }
    if (asked.outcome === undefined || one.facts.outcome === asked.outcome) {
      if (asked.skip > 0) asked.skip -= 1
      else {
        const isFull = deliveries.length === asked.limit || characters > PAGE_CHARACTERS || bytes > PAGE_BYTES
        if (isFull) return { deliveries, next: `0:${last}` }
        const { request, text } = await requestOf(env, one)
        const { deliveryId, ...facts } = viewOfFacts(one.facts)
        const urlPath = paths.get(one.prefix) ?? ''
        deliveries.push({ deliveryId, urlPath, ...facts, request: request?.request ?? null })
        characters += text.length
        bytes += parsedBytes(text)
      }
    }
    last = one.facts.deliveryId
  }
}

/** `text`: what was parsed for it. */
async function requestOf(
  { store }: CallEnv,
  { facts, stored }: Listed,
): Promise<{ readonly request: KeptRequest | null; readonly text: string }> {
  if (stored === null) return { request: null, text: '' }
  const { partition, value, delivery } = stored
  if (delivery.request) return { request: delivery.request, text: value }
  const row = await store.readRow({ partition, space: 'deliveries', key: requestKeyOf(facts.deliveryId) })
  return { request: row && storedRequestOf(row), text: row?.value ?? '' }
}
