// engine/deliveries: deliveries, the requests to endpoints of webhooks. All are counted. Those that passed are stored: one
// that starts a context in the commit of the start, the others a moment after their answer. Refused ones stay in memory.
//
// - A delivery that starts a context is a row in the commit of the start (`rowsOf`). How it was answered is written later,
//   together with other deliveries (`delivery-writer.ts`). The keys of an endpoint's rows descend with time, so lists read
//   the newest first (`newest-first.ts`), and whatever lies behind the newest so many is removed after each half of that
//   number. A large request has a row of its own, which only those lists read that show it.
// - Refused deliveries cost an entry in memory, and nothing else.
// - `http/webhooks/settlement.ts` says which outcome and status an answer has. The engine is given that function, so
//   one that is sent again has the status that its sender would have got.
import type { ContextRecord } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { SharedRun } from '../../model/shared-run.ts'
import type { Delivery, DeliveryOutcome, SettlementOf, WebhookAnswer, WebhookCall } from '../../model/webhook.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { Deps } from '../contexts/deps.ts'
import { newIdAt } from '../contexts/ids.ts'
import { allRows } from '../tasks/fan-out.ts'
import { keptRequestOf } from './delivery-request.ts'
import {
  deliveryKeyOf,
  inlineOf,
  prefixOf,
  removalOfDelivery,
  rowsOfDelivery,
  type DeliveryFacts,
  type DeliveryPlace,
  type EndpointName,
} from './delivery-rows.ts'
import { commitsOf, DeliveryWriter } from './delivery-writer.ts'

export interface DeliveriesParts extends Deps {
  readonly catalog: Catalog
  /** Deliveries kept of each endpoint; 0: none. */
  readonly max: number
  readonly settlementOf: SettlementOf
}

/** Of those that started a context, and whose answer is awaited; of more, it is not noted how they were answered. */
const MAX_STARTED = 20_000
/** Refused deliveries that are kept of an endpoint. */
const MAX_REFUSED = 100
/** Characters of a reason that are kept: it may quote a request. */
const MAX_REASON_CHARACTERS = 500
/** Part of the deliveries that are kept, after which those that are too much are removed. */
const TRIM_PART = 0.5
/** Rows that are read at once, and those that are deleted together. */
const TRIM_ROWS = 128

export const zeroCounts = () => ({
  accepted: 0,
  duplicate: 0,
  filtered: 0,
  handshake: 0,
  ignored: 0,
  invalid: 0,
  'signature-invalid': 0,
  failed: 0,
  timeout: 0,
  refused: 0,
})

/** What is known in memory of the deliveries of an endpoint, since this server started. */
export interface DeliveryTally {
  /** What the keys of its rows begin with. */
  readonly prefix: string
  readonly counts: { [outcome in DeliveryOutcome]: number }
  last: DeliveryFacts | null
  /** The last that were refused before their request could be read, in the order of their answers. */
  readonly refused: DeliveryFacts[]
  /** Rows written since those beyond the bound were removed. */
  untrimmed: number
}

/** A delivery whose context is stored: what its row needs when it is answered. */
interface StartedDelivery {
  readonly place: DeliveryPlace
  readonly facts: DeliveryFacts
  /** The request as JSON, if it is in the row itself. */
  readonly inline: string | null
}

export class Deliveries {
  readonly #parts: DeliveriesParts
  readonly #writer: DeliveryWriter
  /** By what distinguishes endpoints. */
  readonly #tallies = new Map<string, DeliveryTally>()
  readonly #started = new Map<string, StartedDelivery>()
  readonly #trims = new SharedRun(() => this.#trimAll())
  #isClosed = false
  /** Of the last id. */
  #lastMs = 0
  #number = 0

  constructor(parts: DeliveriesParts) {
    this.#parts = parts
    this.#writer = new DeliveryWriter(parts, () => void this.#trims.get())
  }

  /** Removes what is too much, of a time when more were kept. */
  start(): void {
    for (const endpoint of this.#parts.catalog.endpoints().all) this.tallyOf(endpoint).untrimmed = Infinity
    void this.#trims.get()
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writer.close()
    await this.#trims.get()
  }

  /** Identifies a request that arrives now. Ids of one server ascend. */
  arrival(): Pick<Delivery, 'deliveryId' | 'time'> {
    const time = this.#parts.clock.now()
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
    const { max, store, clock, settlementOf } = this.#parts
    if (max === 0) return []
    const settled = answer && settlementOf({ answer, replayed: false, remark: null })
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
    const [oldest] = this.#started.size > MAX_STARTED ? this.#started.keys() : []
    if (oldest !== undefined) this.#started.delete(oldest)
    return rowsOfDelivery(place, { ...facts, isStart: true }, text)
  }

  /** The start of which these rows were is not tried any more: the delivery has its effect on another context. */
  forgetRows(deliveryId: string): void {
    this.#started.delete(deliveryId)
  }

  /** Counts a delivery that was answered, and keeps it. */
  settled(delivery: Delivery): void {
    const { deliveryId, endpoint, request, rawBody, outcome } = delivery
    const tally = this.tallyOf(endpoint)
    const started = this.#started.get(deliveryId)
    this.#started.delete(deliveryId)
    // Once its context is stored, nobody holds the request.
    const isStart = started !== undefined && (isOfStart(outcome) || request === null)
    const facts = { ...factsOf(delivery), ...(isStart && { contextId: started.facts.contextId }) }
    tally.counts[outcome] += 1
    // A late answer is to an earlier one.
    if (tally.last === null || deliveryId >= tally.last.deliveryId) tally.last = facts
    if (this.#parts.max === 0) return
    if (!isStart && request === null) {
      tally.refused.push(facts)
      if (tally.refused.length > MAX_REFUSED) tally.refused.shift()
      return
    }
    tally.untrimmed += 1
    if (isStart && started.facts.status === facts.status && facts.reason === null) return this.#writer.add([])
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
    const tally = { prefix: prefixOf(name), counts: zeroCounts(), last: null, refused: [], untrimmed: 0 }
    this.#tallies.set(name, tally)
    return tally
  }

  #placeOf(endpoint: EndpointName, deliveryId: string): DeliveryPlace {
    const key = deliveryKeyOf(this.tallyOf(endpoint).prefix, deliveryId)
    return { partition: partitionOf(deliveryId, this.#parts.store.partitions), key }
  }

  async #trimAll(): Promise<void> {
    const { log, max } = this.#parts
    for (const tally of this.#tallies.values()) {
      if (this.#isClosed || tally.untrimmed < Math.max(1, Math.floor(max * TRIM_PART))) continue
      tally.untrimmed = 0
      await this.#trim(tally).catch((error: unknown) => {
        log.debug('old deliveries of webhooks could not be removed; trying again later', { error })
      })
    }
  }

  /** Removes those beyond the newest so many, in all partitions. */
  async #trim({ prefix }: DeliveryTally): Promise<void> {
    const { store, max } = this.#parts
    const removals: RowWrite[] = []
    const remove = async () => {
      for (const rows of commitsOf(removals.splice(0))) await store.commit({ writes: [], rows })
    }
    let seen = 0
    for await (const row of allRows(store, { space: 'deliveries', prefix }, TRIM_ROWS)) {
      if (this.#isClosed) return
      seen += 1
      if (seen > max) removals.push(...removalOfDelivery(row, prefix))
      if (removals.length >= TRIM_ROWS) await remove()
    }
    await remove()
  }
}

/** Whether this can be the outcome of a delivery whose context is stored. */
const isOfStart = (outcome: DeliveryOutcome): boolean =>
  outcome === 'accepted' || outcome === 'failed' || outcome === 'timeout'

/** What is kept of a delivery: nothing that the client can make large. */
function factsOf(delivery: Delivery): DeliveryFacts {
  const { deliveryId, method, time, outcome, status, duration, contextId, replayOf, reason } = delivery
  const isLong = reason !== null && reason.length > MAX_REASON_CHARACTERS
  const shown = isLong ? `${reason.slice(0, MAX_REASON_CHARACTERS)}…` : reason
  return { deliveryId, method, time, outcome, status, duration, contextId, replayOf, reason: shown }
}
