// store/redis: the time of Redis, which all servers share, estimated between two answers that tell it. The estimate is
// never ahead of it.

/** Answers that are remembered: one that took long bounds the time less tightly than the ones before it. */
const REMEMBERED = 5
/**
 * Milliseconds for which other partitions are not asked once one has told the time: nodes of a cluster have clocks of
 * their own.
 */
const SOURCE_MS = 60_000
/** Milliseconds that a time in whole milliseconds may be behind what it was rounded down from. */
const ROUNDING_MS = 1

/** An answer that tells the time of a partition's Redis. */
export interface TimeAnswer {
  /** Epoch milliseconds, rounded down. */
  readonly time: number
  /** When it was asked for, by `performance.now()`. */
  readonly asked: number
  readonly partition: number
  /** Which Redis answered: after a new connection another one may have, and what the last one told counts no more. */
  readonly storeIncarnation: number
}

export class RedisTime {
  /** Lower bounds of Redis's time less this process's: each holds since the moment when its answer had come. */
  #offsets: number[] = []
  #storeIncarnation = 0
  #source = Infinity
  #receivedAt = -Infinity

  /**
   * Takes an answer that has just come. Redis read its clock between question and answer: so its time is at least what
   * the answer says now, and was at most that when the question was sent. Whatever is remembered above that bound was
   * told by a clock that has been set back since.
   */
  received({ time, asked, partition, storeIncarnation }: TimeAnswer): void {
    const now = performance.now()
    if (storeIncarnation !== this.#storeIncarnation)
      [this.#offsets, this.#storeIncarnation, this.#source] = [[], storeIncarnation, Infinity]
    if (partition > this.#source && now - this.#receivedAt < SOURCE_MS) return
    const most = time + ROUNDING_MS - asked
    const earlier = partition === this.#source ? this.#offsets.filter((offset) => offset <= most) : []
    this.#offsets = [...earlier.slice(1 - REMEMBERED), time - now]
    this.#source = partition
    this.#receivedAt = now
  }

  /** Whether the time is told by that partition at present. */
  isFrom(partition: number): boolean {
    return partition === this.#source
  }

  /** Epoch milliseconds. */
  now(): number {
    return Math.floor(Math.max(...this.#offsets) + performance.now())
  }
}
