// store/lmdb: nothing is written unless the disk has room for it. lmdb overwrites memory when a write of a page meets a
// full disk.
import { statfsSync } from 'node:fs'
import { type FluxError, unavailable } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'

/** Milliseconds for which an answer of the file system counts. */
const ASK_EVERY_MS = 50

export interface SpaceOptions {
  readonly folder: string
  /** Bytes to leave free. */
  readonly minFree: number
  /** What is asked for the free space; the file system if left out. */
  readonly gauge?: Gauge | undefined
  readonly log: Log
}

export interface Gauge {
  /** Bytes that can still be written to the file system of a folder. */
  freeBytes(folder: string): number
  /** Milliseconds that only rise. */
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
  /** Free bytes as last told, less what was taken since. */
  #free = Infinity
  #askedAt = -Infinity
  /** Bytes that were refused last; 0 when there is room. */
  #refused = 0
  #isUnknown = false

  constructor(options: SpaceOptions) {
    this.#options = options
  }

  /**
   * Why nothing can be written at present, or null. Asks again, so that a server that gets no requests meanwhile goes
   * on, too.
   */
  trouble(): string | null {
    this.#ask()
    if (this.#hasRoomFor(this.#refused)) this.#recover()
    return this.#hasRoomFor(this.#refused) ? null : this.#reason()
  }

  /**
   * Takes so many bytes of what is free.
   * @throws FluxError `unavailable` when that would leave less than is to stay free
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
      // What can't be known must not stop the server.
      this.#free = Infinity
      if (!this.#isUnknown) log.warn("the free space of the data folder can't be told", { folder, error })
      this.#isUnknown = true
    }
  }
}
