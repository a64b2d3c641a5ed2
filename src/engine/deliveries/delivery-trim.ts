// engine/deliveries: removes deliveries beyond the newest so many of an endpoint, in all partitions. Of what this server
// writes, it knows behind which one the surplus begins, so only surplus is read; at the start the others are counted.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RowWrite } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { deliveryIdIn, removalOfDelivery } from './delivery-rows.ts'
import { commitsOf } from './delivery-writer.ts'
import { NewestFirst } from './newest-first.ts'

export interface DeliveryTrimParts {
  readonly store: Store
  readonly log: Log
  /** Deliveries that are kept of each endpoint. */
  readonly max: number
}

/** Rows after which others are served, and rows that are deleted together. */
const STRIDE = 128

export class DeliveryTrim {
  readonly #parts: DeliveryTrimParts
  /** By what the keys of an endpoint begin with: the id behind which all is surplus; null: it is not known. */
  readonly #asked = new Map<string, string | null>()
  #running: Promise<void> | null = null
  #stopped = false

  constructor(parts: DeliveryTrimParts) {
    this.#parts = parts
  }

  /**
   * Begins at once, or after those that were asked for before. By what the keys of an endpoint begin with: the id of a
   * delivery before which there is nothing but surplus; null: it is not known.
   */
  ask(endpoints: ReadonlyMap<string, string | null>): void {
    if (this.#stopped) return
    for (const [prefix, after] of endpoints) this.#asked.set(prefix, after)
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    const { store, log } = this.#parts
    try {
      if ((await store.countRows({ space: 'deliveries' })) === 0) this.#asked.clear()
      for (const [prefix, after] of this.#asked) {
        this.#asked.delete(prefix)
        await this.#trim(prefix, after)
        if (this.#stopped) return
      }
    } catch (error) {
      // What is left over is removed with the next ones.
      this.#asked.clear()
      if (!this.#stopped) log.debug('old deliveries of webhooks could not be removed; trying again later', { error })
    }
  }

  async #trim(prefix: string, after: string | null): Promise<void> {
    const { store } = this.#parts
    const max = after === null ? this.#parts.max : 0
    const rows = new NewestFirst(store, [prefix], after)
    let removals: RowWrite[] = []
    for (let seen = 1; !this.#stopped; seen += 1) {
      const row = await rows.next()
      if (row !== null && seen > max) removals.push(...removalOfDelivery(row, deliveryIdIn(prefix, row.key)))
      if (row === null || removals.length >= STRIDE) {
        for (const commit of commitsOf(removals)) await store.commit({ writes: [], rows: commit })
        removals = []
      }
      if (row === null) return
      if (seen % STRIDE === 0) await nextTurn()
    }
  }
}
