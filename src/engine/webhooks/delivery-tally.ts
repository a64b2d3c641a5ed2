// engine/webhooks: what is known in memory of the deliveries of an endpoint, since this server started: their counts, the
// last one, and the last that were refused before their request could be read. A refused one costs next to nothing.
import type { Delivery, DeliveryOutcome } from '../../model/webhook.ts'
import type { DeliveryFacts } from './delivery-rows.ts'

/** Refused deliveries that are kept of an endpoint. */
const MAX_REFUSED = 100

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
  readonly #refused: DeliveryFacts[] = []
  /** Place of the oldest, once there are as many as may be. */
  #oldest = 0

  constructor(prefix: string) {
    this.prefix = prefix
  }

  count(facts: DeliveryFacts): void {
    this.counts[facts.outcome] += 1
    this.last = facts
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
