// engine/carried: for how long what outlives a server goes on here: until the server stops; and for how long the sender of
// a broadcast waits for the whole answer.
import type { EventAnswer } from '../../api/send-event.ts'
import { FluxError, inDoubt } from '../../model/failure.ts'
import type { Clock } from '../../ports/clock.ts'

/** Milliseconds after which a store that is out of reach is asked again. */
const RETRY_MS = 1000

export class Patience {
  readonly #clock: Clock
  #isOver = false
  #wake: (() => void) | null = null
  /** Of the sender that waits. */
  #resolve: ((answer: EventAnswer | null) => void) | null = null
  #callOff: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the server stops. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether the sender waits. */
  get isAwaited(): boolean {
    return this.#resolve !== null
  }

  /** The server stops: what waits goes on, to find that out. */
  end(): void {
    this.#isOver = true
    this.#wake?.()
    this.giveUp()
  }

  /** @throws FluxError when the server stops: what was sent stays, and whoever carries it on sends the rest */
  check(): void {
    if (this.#isOver) throw inDoubt('the server is stopping')
  }

  /** Does it, and again while the store is out of reach. @throws FluxError when the server stops */
  async persist<T>(step: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if (!(error instanceof FluxError) || error.failure.kind !== 'unavailable') throw error
        await this.waitForStore()
      }
    }
  }

  /** Resolves when the store may be asked again. @throws FluxError when the server stops */
  waitForStore(): Promise<void> {
    return this.pause(RETRY_MS)
  }

  /** Resolves after so many milliseconds. One pause at a time. @throws FluxError when the server stops */
  async pause(milliseconds: number): Promise<void> {
    this.check()
    await new Promise<void>((resolve) => {
      const callOff = this.#clock.after(milliseconds, resolve)
      this.#wake = () => {
        callOff()
        resolve()
      }
    })
    this.#wake = null
    this.check()
  }

  /** The answer, if it is there within so many milliseconds; else null. */
  wait(milliseconds: number): Promise<EventAnswer | null> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#callOff = this.#clock.after(milliseconds, () => this.giveUp())
    })
  }

  /** The sender waits no longer. */
  giveUp(): void {
    this.#callOff?.()
    this.answer(null)
  }

  /** Whether the sender still waits: then it does so until it has its answer. */
  close(): boolean {
    this.#callOff?.()
    return this.#resolve !== null
  }

  answer(answer: EventAnswer | null): void {
    this.#resolve?.(answer)
    this.#resolve = null
  }
}
