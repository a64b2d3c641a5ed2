// store/lmdb: refuses writes for which the disk has no space, because lmdb overwrites memory when writing a page fails
// on a full disk.
//
// - No write without free space (`space.ts`): lmdb corrupts memory when the disk is full. For each group of commits,
//   the number of pages that it may need is computed (`group-operations.ts`): all values, and copies of the pages that
//   lead to them.
import { statfsSync } from 'node:fs'
import { type FluxError, unavailable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'

/** Milliseconds for which a reading of the free space is used. */
const ASK_EVERY_MS = 50

export interface SpaceOptions {
  readonly folder: string
  /** Bytes to leave free. */
  readonly minFree: number
  /** Reads the free space; that of the file system if left out. */
  readonly gauge?: Gauge | undefined
  readonly log: Log
}

export interface Gauge {
  /** Bytes that can still be written to the file system of a folder. */
  freeBytes(folder: string): number
  /** Monotonic time in milliseconds. */
  now(): number
}

const SYSTEM_GAUGE: Gauge = {
  freeBytes(folder) {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  },
  now: () => performance.now(),
}

export class Space {
  readonly #options: SpaceOptions
  /** Free bytes at the last reading, minus those that were taken since. */
  #free = Infinity
  #askedAt = -Infinity
  /** Bytes that were refused last; 0 when there is enough space. */
  #refused = 0
  #isUnknown = false

  constructor(options: SpaceOptions) {
    this.#options = options
  }

  /**
   * Why nothing can be written at present, or null. Reads the free space again, so that a server without requests
   * notices when there is space again.
   */
  trouble(): string | null {
    this.#ask()
    if (this.#hasRoomFor(this.#refused)) this.#recover()
    return this.#hasRoomFor(this.#refused) ? null : this.#reason()
  }

  /**
   * Takes so many of the free bytes.
   * @throws FluxError `unavailable` when fewer than `minFree` bytes would remain
   */
  take(bytes: number): void {
    this.#ask()
    if (!this.#hasRoomFor(bytes)) throw this.#refuse(bytes)
    this.#recover()
    this.#free -= bytes
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#free >= this.#options.minFree + bytes
  }

  #refuse(bytes: number): FluxError {
    const { log, folder, minFree } = this.#options
    const facts = { folder, free: this.#free, needed: minFree + bytes }
    if (this.#refused === 0)
      log.error('the disk of the data folder is full: writes are refused until there is room', facts)
    this.#refused = bytes
    return unavailable(this.#reason())
  }

  #recover(): void {
    if (this.#refused === 0) return
    this.#refused = 0
    this.#options.log.info('the disk of the data folder has room again', {
      folder: this.#options.folder,
      free: this.#free,
    })
  }

  #reason(): string {
    return 'the disk of the data folder is full: nothing can be written until there is room'
  }

  #ask(): void {
    const { folder, gauge = SYSTEM_GAUGE, log } = this.#options
    const now = gauge.now()
    if (now - this.#askedAt < ASK_EVERY_MS) return
    this.#askedAt = now
    try {
      this.#free = gauge.freeBytes(folder)
      this.#isUnknown = false
    } catch (error) {
      // An unknown amount of free space must not stop the server.
      this.#free = Infinity
      if (!this.#isUnknown) log.warn("the free space on the disk of the data folder can't be read", { folder, error })
      this.#isUnknown = true
    }
  }
}
