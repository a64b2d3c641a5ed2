// store/lmdb: refuses writes for which the disk has no space, because lmdb overwrites memory when writing a page fails
// on a full disk.
//
// - No write without free space (`space.ts`): lmdb corrupts memory when the disk is full. For each group of commits,
//   the number of pages that it may need is computed (`write-group.ts`): all values, and copies of the pages that
//   lead to them.
import { statfsSync } from 'node:fs'
import { unavailable } from '../../model/failure.ts'
import { throttled } from '../../model/log-once.ts'
import type { Log } from '../../ports/log.ts'

/** Milliseconds for which a reading of the free space is used. */
const ASK_EVERY_MS = 50

export interface SpaceOptions {
  readonly folder: string
  /** Bytes to leave free; 0 if left out. */
  readonly minFree?: number
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

export function diskSpace({ folder, minFree = 0, gauge = SYSTEM_GAUGE, log }: SpaceOptions) {
  /** Free bytes at the last reading, minus those that were taken since. */
  let free = Infinity
  let askedAt = -Infinity
  /** Bytes that were refused last; null when there is enough space. */
  let refused: number | null = null
  const warn = throttled((error) =>
    log.warn("the free space on the disk of the data folder can't be read", { folder, error }),
  )
  const reason = 'the disk of the data folder is full: nothing can be written until there is room'

  function ask(): void {
    const now = gauge.now()
    if (now - askedAt < ASK_EVERY_MS) return
    askedAt = now
    try {
      free = gauge.freeBytes(folder)
    } catch (error) {
      // An unknown amount of free space must not stop the server.
      free = Infinity
      warn(error)
    }
  }

  /** Whether there is room for so many bytes; logs that there is none, and that there is some again. */
  function hasRoomFor(bytes: number): boolean {
    ask()
    const needed = minFree + bytes
    if (free < needed) {
      if (refused === null)
        log.error('the disk of the data folder is full: writes are refused until there is room', {
          folder,
          free,
          needed,
        })
      refused = bytes
      return false
    }
    if (refused !== null) log.info('the disk of the data folder has room again', { folder, free })
    refused = null
    return true
  }

  return {
    /**
     * Why nothing can be written at present, or null. Reads the free space again, so that a server without requests
     * notices when there is space again.
     */
    trouble: () => (hasRoomFor(refused ?? 0) ? null : reason),
    /**
     * Takes so many of the free bytes.
     * @throws FluxError `unavailable` when fewer than `minFree` bytes would remain
     */
    take(bytes: number): void {
      if (!hasRoomFor(bytes)) throw unavailable(reason)
      free -= bytes
    },
  }
}
