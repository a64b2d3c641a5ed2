// engine/deliveries: deliveries, the requests to endpoints of webhooks. All are counted. Those that passed are stored:
// one that starts a context in the commit of the start, the others a moment after their answer. Refused ones stay in
// memory.
//
// - A delivery that starts a context is a row in the commit of the start (`rowsOf`). How it was answered is written
//   later, together with other deliveries (`delivery-writer.ts`). The keys of an endpoint's rows descend with time, so
//   lists read the newest first (`newestFirst`), and whatever lies behind the newest so many is removed after each half
//   of that number. A large request has a row of its own, which only those lists read that show it.
// - Refused deliveries cost an entry in memory, and nothing else.
// - `http/webhooks/reply.ts` says which outcome and status an answer has. The engine is given that function, so
//   one that is sent again has the status that its sender would have got.
import { shortened } from '../../model/error-message.ts'
import { hash } from 'node:crypto'
import type { WebhookView } from '../../api/webhooks.ts'
import type { ContextRecord } from '../../model/context.ts'
import { partitionOf, type RowWrite, type StoredRow } from '../../model/rows.ts'
import {
  NO_DELIVERIES,
  type Delivery,
  type DeliveryOutcome,
  type Endpoint,
  type WebhookAnswer,
  type WebhookCall,
} from '../../model/webhook.ts'
import type { Deps, EngineParts } from '../contexts/deps.ts'
import { newIdAt } from '../contexts/ids.ts'
import { readableOf } from '../record/unreadable.ts'
import { allRows, yieldTurn } from '../tasks/fan-out.ts'
import { Periodic } from '../../ports/periodic.ts'
import { keptRequestOf, type KeptRequest } from './delivery-request.ts'
import { commitsOf, DeliveryWriter } from './delivery-writer.ts'

/** Refused deliveries that are kept of an endpoint. */
const MAX_REFUSED = 100
/** Characters of a reason that are kept: it may quote a request. */
const MAX_REASON_CHARACTERS = 500
/** Part of the deliveries that are kept, after which those that are too much are removed. */
const TRIM_PART = 0.5
/** Rows of an endpoint that are read at once. */
const ROWS_AT_ONCE = 16
/** Lists of deliveries whose first rows are read before others are served. */
const LISTS_AT_ONCE = 32
/** Characters of a request, as JSON, up to which it is in the row itself. */
const INLINE_CHARACTERS = 4096
/** Milliseconds for which a delivery is kept at most, also one of an endpoint that is gone. */
const RETENTION_MS = 30 * 86_400_000
/** Characters of the hash with which the keys of the deliveries of an endpoint begin. */
const HASH_CHARACTERS = 22

/** What of a delivery lists show, besides its request. `status`, `duration`: null until it is answered. */
export type DeliveryFacts = NonNullable<WebhookView['last']>

export interface StoredDelivery extends DeliveryFacts {
  /** Whether it started its context, whose record then has the whole request. */
  readonly isStart: boolean
  /** null: it is in the row of its own. */
  readonly request: KeptRequest | null
}

/** Where the row of a delivery is. */
type DeliveryPlace = Pick<StoredRow, 'partition' | 'key'>

/** What distinguishes endpoints: those of several methods are one. */
export type EndpointName = Pick<Endpoint, 'package' | 'fluxName' | 'urlPath'>

/** What is known in memory of the deliveries of an endpoint, since this server started. */
export interface DeliveryTally {
  /** What the keys of its rows begin with. */
  readonly prefix: string
  readonly counts: { [outcome in DeliveryOutcome]: number }
  /** The last that were refused before their request could be read, in the order of their answers. */
  readonly refused: DeliveryFacts[]
  /** Rows written since those beyond the bound were removed. */
  untrimmed: number
}

export interface ListedDelivery {
  readonly tally: DeliveryTally
  readonly facts: DeliveryFacts
  /** null: it was refused, and is in memory alone. */
  readonly stored: (StoredRow & { readonly delivery: StoredDelivery }) | null
}

/** A delivery whose context is stored: what its row needs when it is answered. */
interface StartedDelivery {
  readonly place: DeliveryPlace
  readonly facts: DeliveryFacts
  /** The request as JSON, if it is in the row itself. */
  readonly inline: string | null
}

export class Deliveries {
  readonly #given: EngineParts
  readonly #writer: DeliveryWriter
  /** By what distinguishes endpoints. */
  readonly #tallies = new Map<string, DeliveryTally>()
  /** As many as requests are under way. */
  readonly #started = new Map<string, StartedDelivery>()
  readonly #trims: Periodic
  /** The time of the last id. */
  #lastMs = 0
  #number = 0

  constructor(given: EngineParts) {
    this.#given = given
    this.#writer = new DeliveryWriter(given)
    this.#trims = new Periodic(given.clock, (signal) => this.#trimAll(signal))
  }

  /** Removes what is too much, of a time when more were kept. */
  start(): void {
    for (const endpoint of this.#given.catalog.endpoints().all) this.tallyOf(endpoint).untrimmed = Infinity
    this.#trims.within(0)
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    await this.#trims.stop()
    await this.#writer.close()
  }

  /** Identifies a request that arrives now. Ids of one server ascend. */
  arrival(): Pick<Delivery, 'deliveryId' | 'time'> {
    const time = this.#given.clock.now()
    if (time > this.#lastMs) [this.#lastMs, this.#number] = [time, 0]
    else this.#number += 1
    return { deliveryId: newIdAt(this.#lastMs, this.#number), time }
  }

  /**
   * The rows of a delivery that starts this context: for the commit of the start. May be called for each of its tries.
   * `answer`: which the commit leads to at once; null: it comes later, and then the row is written again.
   */
  rowsOf(
    { deliveryId, endpoint, request, rawBody, time, replayOf }: WebhookCall,
    { id: contextId }: Pick<ContextRecord, 'id'>,
    answer: WebhookAnswer | null,
  ): readonly RowWrite[] {
    const { store, clock, webhooks } = this.#given
    if (webhooks.deliveries === 0) return []
    const settled = answer && webhooks.settlementOf({ answer, replayed: false, remark: null })
    const facts = {
      deliveryId,
      method: String(request['method']),
      time,
      outcome: settled?.outcome ?? 'accepted',
      status: settled?.status ?? null,
      duration: settled && Math.max(0, clock.now() - time),
      contextId,
      replayOf,
      // It is redacted when the delivery is answered, and written then.
      reason: null,
    }
    const place = { ...this.#placeOf(endpoint, deliveryId), partition: contextId % store.partitions }
    const text = JSON.stringify(keptRequestOf(request, rawBody))
    this.#started.set(deliveryId, { place, facts, inline: inlineOf(text) })
    return rowsOfDelivery(place, { ...facts, isStart: true }, text)
  }

  /** The start that these rows belong to is not tried again: the delivery has its effect on another context. */
  forgetRows(deliveryId: string): void {
    this.#started.delete(deliveryId)
  }

  /** Counts a delivery that was answered, and keeps it. */
  settled(delivery: Delivery): void {
    const { deliveryId, endpoint, request, rawBody, outcome } = delivery
    const tally = this.tallyOf(endpoint)
    const started = this.#started.get(deliveryId)
    this.#started.delete(deliveryId)
    // Once its context is stored, the request is no longer in memory.
    const isStart = started !== undefined && (isOfStart(outcome) || request === null)
    const facts = { ...factsOf(delivery), ...(isStart && { contextId: started.facts.contextId }) }
    tally.counts[outcome] += 1
    if (this.#given.webhooks.deliveries === 0) return
    if (!isStart && request === null) {
      tally.refused.push(facts)
      if (tally.refused.length > MAX_REFUSED) tally.refused.shift()
      return
    }
    tally.untrimmed += 1
    if (tally.untrimmed >= this.#maxUntrimmed) this.#trims.within(0)
    if (isStart && started.facts.status === facts.status && facts.reason === null) return
    const text = isStart ? started.inline : JSON.stringify(keptRequestOf(request ?? {}, rawBody ?? new Uint8Array()))
    // If the outcome of the start is unknown, the row may be there.
    const place = started?.place ?? this.#placeOf(endpoint, deliveryId)
    this.#writer.add(rowsOfDelivery(place, { ...facts, isStart }, text))
  }

  /** Resolves when the deliveries that were answered are in the store, unless it is not there. */
  flush(): Promise<void> {
    return this.#writer.flush()
  }

  /** What is known in memory of that endpoint. */
  tallyOf({ package: owner, fluxName, urlPath }: EndpointName): DeliveryTally {
    const name = JSON.stringify([owner, fluxName, urlPath])
    const known = this.#tallies.get(name)
    if (known) return known
    const digest = hash('sha256', name, 'base64url').slice(0, HASH_CHARACTERS)
    const tally = { prefix: `${digest}:`, counts: { ...NO_DELIVERIES }, refused: [], untrimmed: 0 }
    this.#tallies.set(name, tally)
    return tally
  }

  #placeOf(endpoint: EndpointName, deliveryId: string) {
    const key = deliveryKeyOf(this.tallyOf(endpoint).prefix, deliveryId)
    return { partition: partitionOf(deliveryId, this.#given.store.partitions), key }
  }

  get #maxUntrimmed() {
    return Math.max(1, Math.floor(this.#given.webhooks.deliveries * TRIM_PART))
  }

  async #trimAll(signal: AbortSignal) {
    const { log } = this.#given
    for (const tally of this.#tallies.values()) {
      if (tally.untrimmed < this.#maxUntrimmed) continue
      tally.untrimmed = 0
      await this.#trim(tally, signal).catch((error: unknown) => {
        log.debug('old deliveries of webhooks could not be removed; trying again later', { error })
      })
    }
    return null
  }

  /** Removes those beyond the newest so many, in all partitions. */
  async #trim({ prefix }: DeliveryTally, signal: AbortSignal) {
    const { store, webhooks } = this.#given
    const removals: RowWrite[] = []
    let seen = 0
    // Those that were counted are written by then.
    await this.#writer.flush()
    for await (const row of allRows(store, { space: 'deliveries', prefix })) {
      if (signal.aborted) return
      seen += 1
      if (seen > webhooks.deliveries) removals.push(...removalOfDelivery(row, prefix))
    }
    for (const rows of commitsOf(removals)) await store.commit({ writes: [], rows })
  }
}

/** Whether this can be the outcome of a delivery whose context is stored. */
const isOfStart = (outcome: DeliveryOutcome) => outcome === 'accepted' || outcome === 'failed' || outcome === 'timeout'

/** What is kept of a delivery: nothing that the client can make large. */
function factsOf(delivery: Delivery) {
  const { deliveryId, method, time, outcome, status, duration, contextId, replayOf, reason } = delivery
  const shown = reason && shortened(reason, MAX_REASON_CHARACTERS)
  return { deliveryId, method, time, outcome, status, duration, contextId, replayOf, reason: shown }
}

/** Ids ascend with time, and stores list rows by ascending keys: here, the newest goes first. */
export const deliveryKeyOf = (prefix: string, deliveryId: string): string =>
  prefix + inverted(deliveryId.replaceAll('-', ''))

const inverted = (hex: string) => Buffer.from(Buffer.from(hex, 'hex').map((byte) => 255 - byte)).toString('hex')

/** The key of the row of its own that has the request. */
export const requestKeyOf = (deliveryId: string): string => `request:${deliveryId}`

/** The request as it stands in the row of its delivery; null: it needs a row of its own. */
const inlineOf = (request: string) => (request.length <= INLINE_CHARACTERS ? request : null)

/** @param request as JSON; null: it is not written, since it is in the row of its own already */
function rowsOfDelivery(
  { partition, key }: DeliveryPlace,
  facts: Omit<StoredDelivery, 'request'>,
  request: string | null,
) {
  const row = { partition, space: 'deliveries', expiresAt: facts.time + RETENTION_MS } as const
  const inline = request && inlineOf(request)
  const own = { ...row, key, value: `${JSON.stringify(facts).slice(0, -1)},"request":${inline}}` }
  return request === inline ? [own] : [own, { ...row, key: requestKeyOf(facts.deliveryId), value: request }]
}

/** The engine wrote it, so its shape is trusted. @throws SyntaxError when it is damaged */
export const storedDeliveryOf = (value: string): StoredDelivery => JSON.parse(value)
export const storedRequestOf = ({ value }: Pick<StoredRow, 'value'>): KeptRequest => JSON.parse(value)

/** Deletes what may be there of a delivery. `key`: begins with `prefix`. */
function removalOfDelivery({ partition, key }: DeliveryPlace, prefix: string) {
  const gone = { partition, space: 'deliveries', value: null, expiresAt: null } as const
  const id = inverted(key.slice(prefix.length)).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  return [
    { ...gone, key },
    { ...gone, key: requestKeyOf(id) },
  ]
}

/**
 * Those that are stored of an endpoint. One that can't be read is logged.
 * @param behind only deliveries before the one with this id; null: all
 */
async function* storedDeliveries(
  { store, log }: Omit<Deps, 'clock'>,
  tally: DeliveryTally,
  behind: string | null,
): AsyncGenerator<ListedDelivery, undefined> {
  const { prefix } = tally
  const after = behind === null ? undefined : { key: deliveryKeyOf(prefix, behind), partition: store.partitions }
  for await (const row of allRows(store, { space: 'deliveries', prefix, after }, ROWS_AT_ONCE)) {
    const delivery = readableOf(row, 'deliveries', log, storedDeliveryOf)
    if (!delivery) continue
    const { isStart: _isStart, request: _request, ...facts } = delivery
    yield { tally, facts, stored: { ...row, delivery } }
  }
  return undefined
}

/** They were noted in the order of their answers, which is almost that of their arrival. */
async function* refusedDeliveries(tally: DeliveryTally, behind: string | null): AsyncGenerator<ListedDelivery> {
  const refused = tally.refused.filter(({ deliveryId }) => behind === null || deliveryId < behind)
  const descending = refused.sort((one, other) => (one.deliveryId < other.deliveryId ? 1 : -1))
  for (const facts of descending) yield { tally, facts, stored: null }
}

/** Both of all those endpoints. `behind`: as of `storedDeliveries`. */
export async function* newestFirst(
  deps: Omit<Deps, 'clock'>,
  tallies: readonly DeliveryTally[],
  behind: string | null,
): AsyncGenerator<ListedDelivery> {
  const heads = new Map<ListedDelivery, AsyncIterator<ListedDelivery>>()
  const advance = async (source: AsyncIterator<ListedDelivery>) => {
    const { done, value } = await source.next()
    if (done !== true) heads.set(value, source)
  }
  const sources = tallies.flatMap((tally) => [storedDeliveries(deps, tally, behind), refusedDeliveries(tally, behind)])
  for (let from = 0; from < sources.length; from += LISTS_AT_ONCE) {
    await Promise.all(sources.slice(from, from + LISTS_AT_ONCE).map(advance))
    // What the store has in memory it gives without a pause.
    await yieldTurn()
  }
  while (heads.size > 0) {
    const [newest, source] = [...heads].reduce((one, other) =>
      other[0].facts.deliveryId > one[0].facts.deliveryId ? other : one,
    )
    yield newest
    heads.delete(newest)
    await advance(source)
  }
}
