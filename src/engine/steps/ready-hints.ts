// engine: tells other servers that steps are ready for which this one has no slot, a few times a second at most.
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
  /** A hint was asked for in the pause. */
  #isDue = false
  #stopped = false

  constructor(parts: ReadyHintsParts) {
    this.#parts = parts
  }

  /** Called for hints of all servers, this one included. */
  onNotified(listener: () => void): void {
    this.#parts.feed?.onReady(listener)
  }

  /** Now, or soon. */
  notify(): void {
    const { feed, clock } = this.#parts
    if (!feed) return
    if (this.#isPaused) {
      this.#isDue = true
      return
    }
    feed.notifyReady()
    this.#isPaused = true
    clock.after(EVERY_MS, () => {
      this.#isPaused = false
      if (this.#isDue && !this.#stopped) this.notify()
      this.#isDue = false
    })
  }

  /** What is ready here is left to others from now on. */
  stop(): void {
    this.#stopped = true
    this.#parts.feed?.notifyReady()
  }
}
