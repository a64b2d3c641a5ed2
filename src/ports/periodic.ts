// ports: pauses, and work that is repeated, by a clock.
import type { Clock } from './clock.ts'

/** Resolves after that time, or when the signal aborts. */
export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(milliseconds, done)
    signal?.addEventListener('abort', done)
  })
}

/** Work that is repeated, one run at a time. */
export class Periodic {
  readonly #clock: Clock
  readonly #work: (signal: AbortSignal) => Promise<number | null>
  readonly #stopping = new AbortController()
  #running: Promise<void> | null = null
  /** When the next run begins, epoch milliseconds. */
  #nextAt = Infinity
  #cancel = () => {}
  /** Milliseconds after the run in progress at which the next was requested. */
  #requestedMs = Infinity

  /**
   * @param work never rejects. Resolves with the milliseconds until the next run; null: when it is requested. The signal is
   * aborted by `stop`.
   */
  constructor(clock: Clock, work: (signal: AbortSignal) => Promise<number | null>) {
    this.#clock = clock
    this.#work = work
  }

  /** Begins the next run in that many milliseconds at most: with 0 at once. A run in progress ends before. */
  within(milliseconds: number): void {
    if (this.#running) {
      this.#requestedMs = Math.min(this.#requestedMs, milliseconds)
      return
    }
    const at = this.#clock.now() + milliseconds
    // A timer that is due may not have fired yet.
    if (this.#stopping.signal.aborted || (milliseconds > 0 && at >= this.#nextAt)) return
    this.#cancel()
    this.#nextAt = at
    const begin = () => {
      this.#running = this.#run()
    }
    if (milliseconds > 0) this.#cancel = this.#clock.after(milliseconds, begin)
    else begin()
  }

  /** Begins a run at once, after the one in progress; resolves when it has ended. */
  async now(): Promise<void> {
    const before = this.#running
    this.within(0)
    await before
    await this.#running
  }

  /** Begins no run any more. Resolves when the run in progress has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancel()
    await this.#running
  }

  async #run() {
    this.#nextAt = Infinity
    const nextMs = await this.#work(this.#stopping.signal)
    this.#running = null
    const requestedMs = Math.min(this.#requestedMs, nextMs ?? Infinity)
    this.#requestedMs = Infinity
    if (requestedMs < Infinity) this.within(requestedMs)
  }
}
