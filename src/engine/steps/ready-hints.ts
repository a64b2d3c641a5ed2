// engine: notifies other servers that steps are ready for which this server has no slot, at most ten times a second.
import type { Clock } from '../../ports/clock.ts'
import type { CommitFeed } from '../../ports/commit-feed.ts'

/** Milliseconds between two hints. */
const EVERY_MS = 100

export interface ReadyHintsParts {
  /** null: there are no other servers. */
  readonly feed: CommitFeed | null
  readonly clock: Clock
}

export class ReadyHints {
  readonly #parts: ReadyHintsParts
  #isPaused = false
  /** Whether a hint was requested during the pause. */
  #isDue = false
  #callOff: (() => void) | null = null

  constructor(parts: ReadyHintsParts) {
    this.#parts = parts
  }

  /** Registers a listener for hints of all servers, this one included. */
  onNotified(listener: () => void): void {
    this.#parts.feed?.onReady(listener)
  }

  /** Sends a hint, now or at the end of the pause. */
  notify(): void {
    const { feed, clock } = this.#parts
    if (!feed) return
    if (this.#isPaused) {
      this.#isDue = true
      return
    }
    feed.notifyReady()
    this.#isPaused = true
    this.#callOff = clock.after(EVERY_MS, () => {
      this.#isPaused = false
      if (!this.#isDue) return
      this.#isDue = false
      this.notify()
    })
  }

  /** Sends a last hint, because this server claims nothing more. */
  stop(): void {
    this.#parts.feed?.notifyReady()
  }

  /** Nothing becomes ready any more: the hint that is still due is given now. */
  close(): void {
    this.#callOff?.()
    if (this.#isDue) this.#parts.feed?.notifyReady()
    this.#isDue = false
  }
}
