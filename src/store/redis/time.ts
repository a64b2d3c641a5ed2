// store/redis: the time of Redis, which all servers share, guessed between two tellings. The guess is never ahead of it.

/** Tellings that are remembered: an answer that took long is a worse guess than the ones before it. */
const REMEMBERED = 5

export class RedisTime {
  /** Redis's time less this process's, at the moment when each answer had come. */
  #offsets: number[] = []
  #era = 0

  /** Redis told its time, epoch milliseconds, in an answer that has just come: it is at least so late now. In a new era another one told it, and the last counts no more. */
  told(time: number, era: number): void {
    const earlier = era === this.#era ? this.#offsets.slice(1 - REMEMBERED) : []
    this.#offsets = [...earlier, time - performance.now()]
    this.#era = era
  }

  /** Epoch milliseconds. */
  now(): number {
    return Math.floor(Math.max(...this.#offsets) + performance.now())
  }
}
