// engine/operations: narrows down by id which contexts were started in a range of time. In each partition ids ascend with the
// time of the start, nearly: so a few contexts are read instead of all.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { IdRange, TimeRange, Store, StoredContext } from '../../ports/store.ts'
import { startedAtOf } from '../record/decode.ts'

/**
 * Contexts whose ids or times are so close to a bound are not left out: their starts may have been decided in another
 * order than their ids were given, or by another clock.
 */
const SLACK_IDS = 256
const SLACK_MS = 2000
/** The search ends where so many ids of a partition are left. */
const CLOSE_IDS = 64
/** Times that are remembered: they never change. */
const MAX_KNOWN = 10_000

interface Bounds {
  /** No context up to this id was started after the time. */
  readonly low: ContextId
  /** No context from this id on was started before it. */
  readonly high: ContextId
}

export class StartTimes {
  readonly #store: Store
  /** By partition and id: the first context from that id on, and when it was started. */
  readonly #known = new Map<string, { readonly id: ContextId; readonly startedAt: number }>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Bounds for each partition; outside of them is no context that was started in the range. Null: there are none. */
  async windows({ after, before }: TimeRange): Promise<IdRange[] | null> {
    if (after === undefined && before === undefined) return null
    const { partitions } = this.#store
    const highest = await this.#store.highestId()
    const slack = SLACK_IDS * partitions
    return Promise.all(
      Array.from({ length: partitions }, async (_, partition): Promise<IdRange> => {
        const low = after === undefined ? 0 : (await this.#search(partition, highest, after - SLACK_MS)).low - slack
        const high =
          before === undefined ? Infinity : (await this.#search(partition, highest, before + SLACK_MS)).high + slack
        // What starts from now on has a higher id, and a later time.
        return { after: Math.max(0, low), before: high > highest ? undefined : high }
      }),
    )
  }

  async #search(partition: number, highest: ContextId, time: number): Promise<Bounds> {
    let [low, high] = [0, highest + 1]
    while (high - low > CLOSE_IDS * this.#store.partitions) {
      const middle = Math.floor((low + high) / 2)
      const found = await this.#from(partition, middle)
      if (found === null || found.id >= high) high = middle
      else if (found.startedAt <= time) low = found.id
      else high = middle
    }
    return { low, high }
  }

  /** The first context of the partition from that id on, and when it was started; null: there is none. */
  async #from(
    partition: number,
    id: ContextId,
  ): Promise<{ readonly id: ContextId; readonly startedAt: number } | null> {
    const name = `${partition}:${id}`
    const known = this.#known.get(name)
    if (known) return known
    const nothing: IdRange = { before: 1 }
    const windows = Array.from({ length: this.#store.partitions }, (_, each) => (each === partition ? {} : nothing))
    let found: { readonly id: ContextId; readonly startedAt: number } | null = null
    for (let after = id - 1; found === null;) {
      const { contexts } = await this.#store.select({ any: [[]], windows, after, order: 'asc', limit: 1 })
      const [context] = contexts
      if (!context) return null
      after = context.id
      found = readable(context)
    }
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(name, found)
    return found
  }
}

/** Null: the record is damaged, so that nobody knows. */
function readable(context: StoredContext): { readonly id: ContextId; readonly startedAt: number } | null {
  try {
    return { id: context.id, startedAt: startedAtOf(context) }
  } catch (error) {
    if (error instanceof FluxError && error.failure.kind === 'unreadable') return null
    throw error
  }
}
