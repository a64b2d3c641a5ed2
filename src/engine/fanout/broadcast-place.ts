// engine/fanout: the place of a large broadcast among those that may be under way at once.
import type { CountBound } from '../../model/count-bound.ts'

/** Contexts up to which a broadcast costs about as little as a call for one context. */
const MAX_SMALL_CONTEXTS = 64

/** What a broadcast has of the bound: nothing while it is as small as a call for one context. */
export class BroadcastPlace {
  readonly #bound: CountBound | null
  #isTaken = false

  constructor(bound: CountBound | null) {
    this.#bound = bound
  }

  /** @throws FluxError `overloaded` */
  take(addressed: number): void {
    if (this.#isTaken || this.#bound === null || addressed <= MAX_SMALL_CONTEXTS) return
    this.#bound.take()
    this.#isTaken = true
  }

  /** Of a broadcast that was accepted before: it is never refused. */
  add(): void {
    if (this.#isTaken || this.#bound === null) return
    this.#bound.add()
    this.#isTaken = true
  }

  /** Hands over what it has: whoever gets it releases it. */
  pass(): BroadcastPlace {
    const next = new BroadcastPlace(this.#bound)
    next.#isTaken = this.#isTaken
    this.#isTaken = false
    return next
  }

  release(): void {
    if (this.#isTaken) this.#bound?.release()
    this.#isTaken = false
  }
}
