// http: calls that are made side by side, and in order where they name the same context.

/** What a call is for: calls for the same are made in order. */
export interface Ordering {
  /**
   * A context, or a key. null: nothing that others are for. `everything`: it runs after all calls before it, and before
   * all after it.
   */
  readonly orderingKey: number | string | null
  /** Under which it has its effect once: one that repeats it begins when the one before is done, and gets its answer. */
  readonly key: string | null
}

/**
 * Never rejects. Calls `placed` when it has its place in the order of its context: those behind it need not wait until it
 * is done.
 */
type QueuedCall = (placed: () => void) => Promise<void>

const nothing = () => {}

export class KeyedQueue {
  /** By what it is for: the newest call has its place. */
  readonly #placed = new Map<unknown, Promise<void>>()
  /** By what it is for, and its key: the newest call is done. */
  readonly #done = new Map<unknown, Promise<void>>()
  readonly #underWay = new Set<Promise<void>>()

  /** Begins the call, if it need not wait for others. Resolves when those behind it may begin; undefined: at once. */
  begin(ordering: Ordering, call: QueuedCall): Promise<void> | undefined {
    if (ordering.orderingKey === 'everything') return this.idle().then(() => call(nothing))
    const run = this.#run(ordering, call)
    this.#underWay.add(run)
    void run.then(() => this.#underWay.delete(run))
    return undefined
  }

  /** Resolves when all calls are done that have begun. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async #run({ orderingKey, key }: Ordering, call: QueuedCall): Promise<void> {
    let take = nothing
    const placed = new Promise<void>((resolve) => {
      take = resolve
    })
    const thing = orderingKey ?? placed
    const before = this.#placed.get(thing)
    this.#placed.set(thing, placed)
    if (before) await before
    const id = key === null ? placed : JSON.stringify([orderingKey, key])
    const same = this.#done.get(id)
    if (same) await same
    const done = call(take)
    this.#done.set(id, done)
    await done
    take()
    if (this.#done.get(id) === done) this.#done.delete(id)
    if (this.#placed.get(thing) === placed) this.#placed.delete(thing)
  }
}
