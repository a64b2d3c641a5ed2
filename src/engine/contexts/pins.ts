// engine/contexts: stores definitions, and remembers which ones the store has. A commit that names a definition is made only
// after the store has it.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'

/** Milliseconds after which a definition is stored again: a store that lost its most recent writes may have lost it. */
const PIN_AGAIN_MS = 60_000

interface Pin {
  readonly stored: Promise<void>
  readonly at: number
  readonly incarnation: number
  isDurable: boolean
}

export class Pins {
  readonly #store: Store
  readonly #clock: Clock
  /** By content hash. */
  readonly #pins = new Map<string, Pin>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Whether the store is known to have the definition. */
  has({ hash }: CompiledFlux): boolean {
    return this.#current(hash)?.isDurable === true
  }

  /** Resolves when the store has the definition. @throws FluxError `unavailable` */
  pin({ hash, text }: CompiledFlux): Promise<void> {
    const current = this.#current(hash)
    if (current) return current.stored
    const pin: Pin = {
      at: this.#clock.now(),
      incarnation: this.#store.incarnation,
      isDurable: false,
      stored: this.#store.putDefinition({ hash, text }),
    }
    this.#pins.set(hash, pin)
    // Registered first, so that it runs before the callers that wait for `stored` continue.
    pin.stored.then(
      () => (pin.isDurable = true),
      () => this.#pins.get(hash) === pin && this.#pins.delete(hash),
    )
    return pin.stored
  }

  #current(hash: string): Pin | undefined {
    const pin = this.#pins.get(hash)
    return pin?.incarnation === this.#store.incarnation && this.#clock.now() - pin.at < PIN_AGAIN_MS ? pin : undefined
  }
}
