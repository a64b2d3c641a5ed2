// http: calls that are made side by side, and in order where they name the same context.

export interface QueuedCall {
  /** What it is for, a context or a key: calls for the same are made in order. null: for nothing that others are for. */
  readonly orderingKey: number | string | null
  /** Under which it has its effect once: one that repeats it begins when the one before is done, and gets its answer. */
  readonly key: string | null
  /**
   * Never rejects. Calls `placed` when it has its place in the order of its context: those behind it need not wait until
   * it is done.
   */
  run(placed: () => void): Promise<void>
}

export class KeyedQueue {
  /** The newest call for each thing. */
  readonly #newest = new Map<unknown, Place>()
  /** Calls under a key, by what they are for, and the key. */
  readonly #keyed = new Map<string, Promise<void>>()
  /** Calls that wait or are under way. */
  size = 0

  /** Resolves when the call is done. It begins at once, if it need not wait for others. */
  async run({ orderingKey, key, run }: QueuedCall): Promise<void> {
    const place = new Place()
    const thing = orderingKey ?? place
    const before = this.#newest.get(thing)
    this.#newest.set(thing, place)
    this.size += 1
    if (before?.isTaken === false) await before.taken
    if (key === null) await run(place.take)
    else {
      const id = JSON.stringify([orderingKey, key])
      const same = this.#keyed.get(id)
      if (same) await same
      const done = run(place.take)
      this.#keyed.set(id, done)
      await done
      if (this.#keyed.get(id) === done) this.#keyed.delete(id)
    }
    place.take()
    if (this.#newest.get(thing) === place) this.#newest.delete(thing)
    this.size -= 1
  }
}

/** The place of a call in its order. */
class Place {
  isTaken = false
  take = (): void => {}
  readonly taken = new Promise<void>((resolve) => {
    this.take = () => {
      this.isTaken = true
      resolve()
    }
  })
}
