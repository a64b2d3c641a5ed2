// engine/idempotency: for how long the sender of a broadcast that is accepted waits for the whole answer.
import type { EventAnswer } from '../../api/events.ts'
import type { Clock } from '../../ports/clock.ts'

export class ReplyWaiter {
  readonly #clock: Clock
  #resolve: ((answer: EventAnswer | null) => void) | null = null
  #callOff: (() => void) | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the sender waits. */
  get isAwaited(): boolean {
    return this.#resolve !== null
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
