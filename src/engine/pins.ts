// engine: which definitions the store has. A commit that names a definition is made only when the store has it.
import type { CompiledFlux } from '../definitions/flux.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** After that long a definition is stored again: a store that lost its last moments may have lost it, too. */
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

  /** Whether the store is known to have it. */
  has({ hash }: CompiledFlux): boolean {
    return this.#current(hash)?.isDurable === true
  }

  /** Resolves when the store has it. */
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
    // Set before those that wait for it go on.
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
