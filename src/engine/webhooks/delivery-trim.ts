// engine/webhooks: removes deliveries beyond the newest so many of an endpoint, in all partitions. One endpoint at a time
// is gone over, after a tenth of that number was written: so a delivery costs the reading of about eleven rows, later.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RowWrite } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { removalOfDelivery, storedDeliveryOf } from './delivery-rows.ts'
import { commitsOf } from './delivery-writer.ts'
import { NewestFirst, type DeliveryRow } from './newest-first.ts'

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
  /** Endpoints that are to be gone over, by what their keys begin with. */
  readonly #asked = new Set<string>()
  #running: Promise<void> | null = null
  #stopped = false

  constructor(parts: DeliveryTrimParts) {
    this.#parts = parts
  }

  /** Begins at once, or after those that were asked for before. */
  ask(prefixes: readonly string[]): void {
    if (this.#stopped) return
    for (const prefix of prefixes) this.#asked.add(prefix)
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
      for (const prefix of this.#asked) {
        this.#asked.delete(prefix)
        await this.#trim(prefix)
        if (this.#stopped) return
      }
    } catch (error) {
      // What is left over is removed with the next ones.
      this.#asked.clear()
      if (!this.#stopped) log.debug('old deliveries of webhooks could not be removed; trying again later', { error })
    }
  }

  async #trim(prefix: string): Promise<void> {
    const { store, max } = this.#parts
    const rows = new NewestFirst(store, [prefix], null)
    let removals: RowWrite[] = []
    for (let seen = 1; !this.#stopped; seen += 1) {
      const row = await rows.next()
      if (row !== null && seen > max) removals.push(...removalsOf(row))
      if (row === null || removals.length >= STRIDE) {
        for (const commit of commitsOf(removals)) await store.commit({ writes: [], rows: commit })
        removals = []
      }
      if (row === null) return
      if (seen % STRIDE === 0) await nextTurn()
    }
  }
}

function removalsOf(row: DeliveryRow): RowWrite[] {
  try {
    return removalOfDelivery(row, storedDeliveryOf(row).deliveryId)
  } catch {
    // It is damaged. The row of its request, if it has one, expires.
    return removalOfDelivery(row, '').slice(0, 1)
  }
}
