// store/redis: estimates the time of Redis, which all servers share, from answers that contain it. The estimate is
// never ahead of Redis's clock.
//
// - Time is Redis's (`time.ts`), that of one node in a cluster. A reply `t` to a request sent at `a` bounds the time
//   from both sides: it was at most `t` at `a`, and is at least `t` when the reply has arrived. So slow replies have
//   little influence. A remembered time above that bound is discarded: the clock was set back. A claim of due contexts
//   is bounded by Redis's clock in the script itself.

/** How many answers are remembered. A slow answer bounds the time less tightly than the ones before it. */
const REMEMBERED = 5
/**
 * Milliseconds for which the answers of later partitions are ignored once a partition has given the time, because nodes
 * of a cluster may have different clocks.
 */
const SOURCE_MS = 60_000
/** Milliseconds by which rounding down may have reduced a time. */
const ROUNDING_MS = 1

/** An answer with the time of a partition's Redis. */
export interface TimeAnswer {
  /** Epoch milliseconds, rounded down. */
  readonly time: number
  /** When the request was sent, by `performance.now()`. */
  readonly asked: number
  readonly partition: number
  /** Which Redis answered. After a new connection, another Redis may answer, and the earlier times no longer count. */
  readonly storeIncarnation: number
}

export class RedisTime {
  /** Lower bounds of the difference between Redis's time and this process's, valid since the answer arrived. */
  #offsets: number[] = []
  #storeIncarnation = 0
  #source = Infinity
  #receivedAt = -Infinity

  /**
   * Uses an answer that has just arrived. Redis read its clock between request and answer. So its time is at least
   * `time` now, and was at most `time` when the request was sent. Remembered bounds above that are discarded: the clock
   * has been set back since.
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

  /** Whether the estimate is of that partition's clock at present. */
  isFrom(partition: number): boolean {
    return partition === this.#source
  }

  /** Epoch milliseconds. */
  now(): number {
    return Math.floor(Math.max(...this.#offsets) + performance.now())
  }
}
