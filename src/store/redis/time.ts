// store/redis: the time of Redis, which all servers share, guessed between two tellings. The guess is never ahead of it.

/** Tellings that are remembered: an answer that took long is a worse guess than the ones before it. */
const REMEMBERED = 5

export class RedisTime {
  /** Redis's time less this process's, at the moment when each answer had come. */
  #offsets: number[] = []
  #forgets = false

  /** Redis told its time, epoch milliseconds, in an answer that has just come: it is at least so late now. */
  told(time: number): void {
    const earlier = this.#forgets ? [] : this.#offsets.slice(1 - REMEMBERED)
    this.#offsets = [...earlier, time - performance.now()]
    this.#forgets = false
  }

  /** Another Redis may answer from here on: once it tells its time, what the last one told counts no more. */
  forget(): void {
    this.#forgets = true
  }

  /** Epoch milliseconds. */
  now(): number {
    return Math.floor(Math.max(...this.#offsets) + performance.now())
  }
}
