// engine/deliveries: what is known in memory of the deliveries of an endpoint, since this server started: their counts, the
// last one, and the last that were refused before their request could be read. A refused one costs next to nothing.
import type { Delivery, DeliveryOutcome } from '../../model/webhook.ts'
import type { DeliveryFacts } from './delivery-rows.ts'

/** Refused deliveries that are kept of an endpoint. */
const MAX_REFUSED = 100

/** Ids that are known of an endpoint. Where more deliveries are kept, they are counted in the store. */
const MAX_WRITTEN = 10_000

/** Characters of a reason that are kept: it may quote a request. */
const MAX_REASON_CHARACTERS = 500

export type DeliveryCounts = { [outcome in DeliveryOutcome]: number }

export const zeroCounts = (): DeliveryCounts => ({
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

export class DeliveryTally {
  /** What the keys of its rows begin with. */
  readonly prefix: string
  readonly counts = zeroCounts()
  last: DeliveryFacts | null = null
  /** Rows written since those beyond the bound were removed. */
  untrimmed = 0
  /** Ids of the newest deliveries that this server has written, as many as are kept, the oldest first. */
  readonly #written: string[] = []
  readonly #refused: DeliveryFacts[] = []
  /** Place of the oldest, once there are as many as may be. */
  #oldest = 0

  constructor(prefix: string) {
    this.prefix = prefix
  }

  count(facts: DeliveryFacts): void {
    this.counts[facts.outcome] += 1
    // A late answer is to an earlier one.
    if (this.last === null || facts.deliveryId >= this.last.deliveryId) this.last = facts
  }

  /** Notes that it is written. */
  note(deliveryId: string, max: number): void {
    this.untrimmed += 1
    if (max > MAX_WRITTEN) return
    this.#written.push(deliveryId)
    // In pieces, since it moves the others.
    if (this.#written.length >= 2 * max) this.#written.splice(0, this.#written.length - max)
  }

  /** Notes that some of them are not in the store: until as many were written again, it counts. */
  forgetWritten(): void {
    this.#written.length = 0
  }

  /** The id of a delivery before which there is nothing but surplus; null: it is not known. */
  surplusAfter(max: number): string | null {
    const newest = this.#written.slice(-max)
    if (newest.length < max) return null
    // They are noted in the order of their answers.
    return newest.reduce((one, other) => (other < one ? other : one))
  }

  refuse(facts: DeliveryFacts): void {
    if (this.#refused.length < MAX_REFUSED) {
      this.#refused.push(facts)
      return
    }
    this.#refused[this.#oldest] = facts
    this.#oldest = (this.#oldest + 1) % MAX_REFUSED
  }

  /** Newest first. */
  refused(): DeliveryFacts[] {
    return [...this.#refused.slice(this.#oldest), ...this.#refused.slice(0, this.#oldest)].toReversed()
  }
}

/** What is kept of a delivery: nothing that the client can make large. */
export const factsOf = (delivery: Delivery): DeliveryFacts => ({
  deliveryId: delivery.deliveryId,
  method: delivery.method,
  time: delivery.time,
  outcome: delivery.outcome,
  status: delivery.status,
  duration: delivery.duration,
  contextId: delivery.contextId,
  replayOf: delivery.replayOf,
  reason: shortOf(delivery.reason),
})

function shortOf(reason: string | null): string | null {
  if (reason === null || reason.length <= MAX_REASON_CHARACTERS) return reason
  return `${reason.slice(0, MAX_REASON_CHARACTERS)}…`
}
