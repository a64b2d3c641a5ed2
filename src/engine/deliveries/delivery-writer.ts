// engine/deliveries: writes rows of deliveries a moment later, many in one commit, so that no caller waits for them.
// What is waiting to be written is bounded: beyond it, rows are left out and counted in the log.
import type { RowWrite } from '../../model/rows.ts'
import type { Deps } from '../contexts/deps.ts'
import { isAway } from '../tasks/task.ts'
import { Periodic } from '../../ports/periodic.ts'

/** Milliseconds that rows wait for others, and after which they are tried again. */
const GATHER_MS = 100
const AGAIN_MS = 1000
/** Rows, and characters of them, that may wait. */
const MAX_ROWS = 10_000
const MAX_CHARACTERS = 32 * 1024 * 1024
/** The same of one commit. */
const COMMIT_ROWS = 128
const COMMIT_CHARACTERS = 512 * 1024

export class DeliveryWriter {
  readonly #deps: Deps
  /** By key, until they are written; a later row of a key replaces the earlier. */
  readonly #waiting = new Map<string, RowWrite>()
  readonly #writes: Periodic
  #characters = 0
  #leftOut = 0

  constructor(deps: Deps) {
    this.#deps = deps
    this.#writes = new Periodic(deps.clock, () => this.#write())
  }

  /**
   * Writes the rows of a partition: all or none, since a delivery without its request would push out a whole one. Only
   * one of the servers writes a key.
   */
  add(rows: readonly RowWrite[]): void {
    const characters = rows.reduce((sum, row) => sum + charactersIn(row), this.#characters)
    const isFull = this.#waiting.size + rows.length > MAX_ROWS || characters > MAX_CHARACTERS
    if (isFull && !rows.every(({ key }) => this.#waiting.has(key))) this.#leftOut += rows.length
    else
      for (const row of rows) {
        this.#characters += charactersIn(row) - charactersIn(this.#waiting.get(row.key))
        this.#waiting.set(row.key, row)
      }
    this.#writes.within(GATHER_MS)
  }

  /**
   * Writes what waits now, unless the store is not there. For readers of the rows, which then find all deliveries that
   * were answered.
   */
  flush(): Promise<void> {
    return this.#writes.now()
  }

  /** Writes what is waiting, once; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    await this.flush()
    await this.#writes.stop()
    if (this.#waiting.size > 0)
      this.#deps.log.warn('deliveries of webhooks could not be written', { rows: this.#waiting.size })
  }

  /** Gives the milliseconds after which it is tried again; null: the store was there. */
  async #write() {
    const { store, log } = this.#deps
    if (this.#leftOut > 0)
      log.warn('deliveries of webhooks are not kept: too many wait to be written', { rows: this.#leftOut })
    this.#leftOut = 0
    for (const rows of commitsOf([...this.#waiting.values()])) {
      try {
        await store.commit({ writes: [], rows })
      } catch (error) {
        if (isAway(error)) return AGAIN_MS
        log.error('deliveries of webhooks could not be written', { rows: rows.length, error })
      }
      // One that was replaced meanwhile waits on.
      for (const row of rows.filter((one) => this.#waiting.get(one.key) === one)) {
        this.#waiting.delete(row.key)
        this.#characters -= charactersIn(row)
      }
    }
    return null
  }
}

const charactersIn = (row: RowWrite | undefined) => (row ? row.key.length + (row.value?.length ?? 0) : 0)

/** Groups rows by partition, and into pieces. */
export function commitsOf(rows: readonly RowWrite[]): RowWrite[][] {
  const commits: RowWrite[][] = []
  const open = new Map<number, { rows: RowWrite[]; characters: number }>()
  for (const row of rows) {
    const characters = charactersIn(row)
    let piece = open.get(row.partition)
    if (!piece || piece.rows.length >= COMMIT_ROWS || piece.characters + characters > COMMIT_CHARACTERS) {
      piece = { rows: [], characters: 0 }
      open.set(row.partition, piece)
      commits.push(piece.rows)
    }
    piece.rows.push(row)
    piece.characters += characters
  }
  return commits
}
