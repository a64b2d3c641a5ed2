// engine/deliveries: deliveries, the requests to endpoints of webhooks. All are counted. Those that passed are stored: one
// that starts a context in the commit of the start, the others a moment after their answer. Refused ones stay in memory.
//
// - A delivery that starts a context is a row in the commit of the start (`engine/webhooks/deliveries.ts`). How it was
//   answered is written later, together with other deliveries (`delivery-writer.ts`). The keys of an endpoint's rows
//   descend with time, so lists read the newest first, from all partitions (`newest-first.ts`), and whatever lies
//   behind the newest so many is removed (`delivery-trim.ts`) after each tenth of that number. A large request has a
//   row of its own, which only those lists read that show it.
// - Refused deliveries cost an entry in a ring in memory (`delivery-tally.ts`), and nothing else.
// - `http/webhooks/settlement.ts` says which outcome and status an answer has. The engine is given that function, so
//   one that is sent again has the status that its sender would have got.
import type { ContextId } from '../../model/context.ts'
import type { ContextRecord } from '../../model/record.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Delivery, DeliveryOutcome, SettlementOf, WebhookAnswer, WebhookCall } from '../../model/webhook.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import { newIdAt } from '../contexts/ids.ts'
import { keptRequestOf } from './delivery-request.ts'
import {
  deliveryKeyOf,
  factsRow,
  inlineOf,
  prefixIn,
  prefixOf,
  requestRow,
  type DeliveryFacts,
  type DeliveryPlace,
  type EndpointName,
} from './delivery-rows.ts'
import { DeliveryTally, factsOf } from './delivery-tally.ts'
import { DeliveryTrim } from './delivery-trim.ts'
import { DeliveryWriter } from './delivery-writer.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'

export interface DeliveriesParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly catalog: Catalog
  /** Deliveries kept of each endpoint; 0: none. */
  readonly max: number
  readonly settlementOf: SettlementOf
}

/** Of those that started a context, and whose answer is awaited; of more, it is not noted how they were answered. */
const MAX_STARTED = 20_000

/** A delivery whose context is stored: what its row needs when it is answered. */
interface StartedDelivery {
  readonly place: DeliveryPlace
  readonly contextId: ContextId
  /** The request as JSON, if it is in the row itself. */
  readonly inline: string | null
  /** Of the answer, if the row has it already. */
  readonly status: number | null
}

export class Deliveries {
  readonly #parts: DeliveriesParts
  readonly #writer: DeliveryWriter
  readonly #trim: DeliveryTrim
  /** By what the keys of their rows begin with. */
  readonly #tallies = new Map<string, DeliveryTally>()
  /** The same: an endpoint is the same object until the services change. */
  readonly #ofEndpoint = new WeakMap<EndpointName, DeliveryTally>()
  readonly #started = new Map<string, StartedDelivery>()
  readonly #trimAfter: number
  /** Endpoints that may have too many. */
  readonly #untrimmed = new Set<DeliveryTally>()
  /** Of the last id. */
  #lastMs = 0
  #number = 0

  constructor(parts: DeliveriesParts) {
    const { store, clock, log, max } = parts
    this.#parts = parts
    this.#trim = new DeliveryTrim({ store, log, max })
    // Not before: what is noted when a delivery is answered would write a removed row again.
    const onWritten = () => {
      if (this.#untrimmed.size === 0) return
      this.#trim.ask(new Map([...this.#untrimmed].map((tally) => [tally.prefix, tally.surplusAfter(max)])))
      this.#untrimmed.clear()
    }
    // What is not in the store must not be counted there: the surplus would begin too early.
    const onLost = ({ key }: RowWrite) => this.#tallies.get(prefixIn(key))?.forgetWritten()
    this.#writer = new DeliveryWriter({ store, clock, log, onWritten, onLost })
    this.#trimAfter = Math.max(1, Math.floor(max / 10))
  }

  /** Removes what is too much, of a time when more were kept. */
  start(): void {
    this.#trim.ask(new Map(this.#parts.catalog.endpoints().all.map((endpoint) => [prefixOf(endpoint), null])))
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#trim.stop()])
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
    call: WebhookCall,
    { id: contextId }: Pick<ContextRecord, 'id'>,
    answer: WebhookAnswer | null,
  ): readonly RowWrite[] {
    const { max, store, clock, settlementOf } = this.#parts
    if (max === 0) return []
    const { deliveryId, endpoint, request, rawBody, time, replayOf } = call
    const settled = answer && settlementOf({ answer, replayed: false, remark: null })
    const key = deliveryKeyOf(this.tallyOf(endpoint).prefix, deliveryId)
    const place = { partition: contextId % store.partitions, key }
    const method = String(request['method'])
    const facts: DeliveryFacts = {
      deliveryId,
      method,
      time,
      outcome: settled?.outcome ?? 'accepted',
      status: settled?.status ?? null,
      duration: settled && Math.max(0, clock.now() - time),
      contextId,
      replayOf,
      // It is redacted when the delivery is answered, and written then.
      reason: null,
    }
    const text = JSON.stringify(keptRequestOf(request, rawBody))
    const inline = inlineOf(text)
    this.#remember(deliveryId, { place, contextId, inline, status: facts.status })
    return rowsAt(place, { ...facts, isStart: true }, text)
  }

  /** The start of which these rows were is not tried any more: the delivery has its effect on another context. */
  forgetRows(deliveryId: string): void {
    this.#started.delete(deliveryId)
  }

  /** Counts a delivery that was answered, and keeps it. */
  settled(delivery: Delivery): void {
    const { max, store } = this.#parts
    const { deliveryId, request, rawBody, outcome } = delivery
    const tally = this.tallyOf(delivery.endpoint)
    const started = this.#started.get(deliveryId)
    if (started) this.#started.delete(deliveryId)
    // Once its context is stored, nobody holds the request.
    if (started && (isOfStart(outcome) || request === null)) {
      const facts = { ...factsOf(delivery), contextId: started.contextId }
      tally.count(facts)
      this.#note(tally, deliveryId)
      if (started.status === facts.status && facts.reason === null) return this.#writer.touch()
      return this.#writer.add([factsRow(started.place, { ...facts, isStart: true }, started.inline)])
    }
    const facts = factsOf(delivery)
    tally.count(facts)
    if (max === 0) return
    if (request === null) return tally.refuse(facts)
    // If the outcome of the start is unknown, the row may be there.
    const place = started?.place ?? {
      partition: partitionOf(deliveryId, store.partitions),
      key: deliveryKeyOf(tally.prefix, deliveryId),
    }
    const text = JSON.stringify(keptRequestOf(request, rawBody ?? new Uint8Array()))
    this.#note(tally, deliveryId)
    this.#writer.add(rowsAt(place, { ...facts, isStart: false }, text))
  }

  /** Resolves when the deliveries that were answered are in the store, unless it is not there. */
  flush(): Promise<void> {
    return this.#writer.flush()
  }

  /** What is known in memory of that endpoint. */
  tallyOf(endpoint: EndpointName): DeliveryTally {
    const known = this.#ofEndpoint.get(endpoint)
    if (known) return known
    const prefix = prefixOf(endpoint)
    const tally = this.#tallies.get(prefix) ?? new DeliveryTally(prefix)
    this.#tallies.set(prefix, tally)
    this.#ofEndpoint.set(endpoint, tally)
    return tally
  }

  #remember(deliveryId: string, started: StartedDelivery): void {
    this.#started.set(deliveryId, started)
    const [oldest] = this.#started.size > MAX_STARTED ? this.#started.keys() : []
    if (oldest !== undefined) this.#started.delete(oldest)
  }

  #note(tally: DeliveryTally, deliveryId: string): void {
    tally.note(deliveryId, this.#parts.max)
    if (tally.untrimmed < this.#trimAfter) return
    tally.untrimmed = 0
    this.#untrimmed.add(tally)
  }
}

/** Whether this can be the outcome of a delivery whose context is stored. */
const isOfStart = (outcome: DeliveryOutcome): boolean =>
  outcome === 'accepted' || outcome === 'failed' || outcome === 'timeout'

function rowsAt(
  place: DeliveryPlace,
  facts: DeliveryFacts & { readonly isStart: boolean },
  request: string,
): readonly RowWrite[] {
  const inline = inlineOf(request)
  const row = factsRow(place, facts, inline)
  return inline === null ? [row, requestRow(place, facts, request)] : [row]
}
