// engine/deliveries: writes rows of deliveries a moment later, many in one commit, so that no caller waits for them. What
// is waiting to be written is bounded: beyond it, rows are left out and counted in the log.
import { FluxError } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'

export interface DeliveryWriterParts {
  readonly store: Pick<Store, 'commit'>
  readonly clock: Clock
  readonly log: Log
  /** Called when all that waited is written. */
  readonly onWritten: () => void
  /** Called with a row that will not be written. */
  readonly onLost: (row: RowWrite) => void
}

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
  readonly #parts: DeliveryWriterParts
  /** By key; a later row of a key replaces the earlier. */
  #waiting = new Map<string, RowWrite>()
  #characters = 0
  #leftOut = 0
  #cancelTimer: (() => void) | null = null
  #writing: Promise<void> | null = null
  #closed = false

  constructor(parts: DeliveryWriterParts) {
    this.#parts = parts
  }

  /** All of the rows are in one partition. Only one of the servers writes a key. */
  add(rows: readonly RowWrite[]): void {
    this.#take(rows)
    this.#schedule(GATHER_MS)
  }

  /** Rows were written elsewhere: `onWritten` is called a moment later. */
  touch(): void {
    this.#schedule(GATHER_MS)
  }

  /** Writes what waits now, unless the store is not there. For who reads the rows: what was answered is among them. */
  async flush(): Promise<void> {
    if (this.#writing) await this.#writing
    if (!this.#closed && this.#cancelTimer !== null) {
      this.#cancelTimer()
      this.#cancelTimer = null
      this.#writing = this.#run()
    }
    await this.#writing
  }

  /** Writes what is waiting, once; resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    await this.#writing
    await this.#write()
    if (this.#waiting.size > 0)
      this.#parts.log.warn('deliveries of webhooks could not be written', { rows: this.#waiting.size })
  }

  /** All of them or none, since a delivery without its request would push out a whole one. */
  #take(rows: readonly RowWrite[]): void {
    const characters = rows.reduce((sum, row) => sum + charactersIn(row) - charactersIn(this.#waiting.get(row.key)), 0)
    const isFull = this.#waiting.size + rows.length > MAX_ROWS || this.#characters + characters > MAX_CHARACTERS
    if (isFull && !rows.every(({ key }) => this.#waiting.has(key))) {
      this.#leftOut += rows.length
      rows.forEach(this.#parts.onLost)
      return
    }
    for (const row of rows) this.#waiting.set(row.key, row)
    this.#characters += characters
  }

  #schedule(delay: number): void {
    if (this.#closed || this.#cancelTimer !== null || this.#writing !== null) return
    this.#cancelTimer = this.#parts.clock.after(delay, () => {
      this.#cancelTimer = null
      this.#writing = this.#run()
    })
  }

  async #run(): Promise<void> {
    const isAway = await this.#write()
    this.#writing = null
    if (!isAway) this.#parts.onWritten()
    if (this.#waiting.size > 0) this.#schedule(isAway ? AGAIN_MS : GATHER_MS)
  }

  /** True: the store is not there, and what it didn't take waits. */
  async #write(): Promise<boolean> {
    const rows = [...this.#waiting.values()]
    this.#waiting = new Map()
    this.#characters = 0
    this.#tellLeftOut()
    let isAway = false
    for (const commit of commitsOf(rows)) {
      if (isAway) this.#putBack(commit)
      else isAway = await this.#commit(commit)
    }
    return isAway
  }

  async #commit(rows: readonly RowWrite[]): Promise<boolean> {
    const { store, log, onLost } = this.#parts
    try {
      await store.commit({ writes: [], rows })
      return false
    } catch (error) {
      if (error instanceof FluxError && error.failure.kind === 'unavailable') {
        this.#putBack(rows)
        return true
      }
      log.error('deliveries of webhooks could not be written', { rows: rows.length, error })
      rows.forEach(onLost)
      return false
    }
  }

  /** What came meanwhile is newer. */
  #putBack(rows: readonly RowWrite[]): void {
    for (const row of rows) if (!this.#waiting.has(row.key)) this.#take([row])
  }

  #tellLeftOut(): void {
    if (this.#leftOut === 0) return
    this.#parts.log.warn('deliveries of webhooks are not kept: too many wait to be written', { rows: this.#leftOut })
    this.#leftOut = 0
  }
}

const charactersIn = (row: RowWrite | undefined): number => (row?.value?.length ?? 0) + (row ? row.key.length : 0)

/** Groups rows by partition, and into pieces. */
export function commitsOf(rows: readonly RowWrite[]): RowWrite[][] {
  const commits: RowWrite[][] = []
  const open = new Map<number, { rows: RowWrite[]; characters: number }>()
  for (const row of rows) {
    const last = open.get(row.partition)
    const characters = charactersIn(row)
    if (last && last.rows.length < COMMIT_ROWS && last.characters + characters <= COMMIT_CHARACTERS) {
      last.rows.push(row)
      last.characters += characters
    } else {
      const next = { rows: [row], characters }
      open.set(row.partition, next)
      commits.push(next.rows)
    }
  }
  return commits
}
