// engine/deliveries: the deliveries that were refused to many endpoints, newest first. Only as many are put in order as
// are asked for, so that a list of many endpoints costs little.
import type { DeliveryFacts } from './delivery-rows.ts'
import type { DeliveryTally } from './delivery-tally.ts'

export interface RefusedDelivery {
  readonly prefix: string
  readonly facts: DeliveryFacts
}

/** Those of an endpoint that are left, the newest last; at least one. */
interface Source {
  readonly prefix: string
  readonly facts: DeliveryFacts[]
}

export class RefusedDeliveries {
  /** The one with the newest last. */
  readonly #sources: Source[] = []

  /** @param behind only deliveries before the one with this id; null: all */
  constructor(tallies: readonly DeliveryTally[], behind: string | null) {
    for (const tally of tallies) {
      const facts = tally.refused().filter(({ deliveryId }) => behind === null || deliveryId < behind)
      // They were noted in the order of their answers, which is almost that of their arrival.
      if (facts.length > 0) this.#sources.push({ prefix: tally.prefix, facts: facts.toReversed().sort(compare) })
    }
    this.#sources.sort((one, other) => compareIds(idOf(one), idOf(other)))
  }

  /** undefined: there are no more. */
  get newest(): RefusedDelivery | undefined {
    const source = this.#sources.at(-1)
    const facts = source?.facts.at(-1)
    return source && facts && { prefix: source.prefix, facts }
  }

  /** Goes on behind the newest. */
  drop(): void {
    const source = this.#sources.pop()
    source?.facts.pop()
    if (source === undefined || source.facts.length === 0) return
    const id = idOf(source)
    let [from, to] = [0, this.#sources.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const other = this.#sources[middle]
      if (other !== undefined && idOf(other) < id) from = middle + 1
      else to = middle
    }
    this.#sources.splice(from, 0, source)
  }
}

const idOf = ({ facts }: Source): string => facts.at(-1)?.deliveryId ?? ''

const compareIds = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const compare = (one: DeliveryFacts, other: DeliveryFacts): number => compareIds(one.deliveryId, other.deliveryId)
