// store/memory: what the servers of one store share: contexts and rows, and which servers live.
import type { ContextId } from '../../model/context.ts'
import type { StoredContext } from '../../ports/store.ts'
import { MemoryRows } from './memory-rows.ts'

export interface Entry {
  context: StoredContext
  log: string[]
  /** Whether a relative has told it of its end, and it has not answered yet. */
  isNotified: boolean
  /** Until when a claim hides it from others; null: nothing does. */
  hiddenUntil: number | null
  /** Set once its owner is dead, or no server: until when a claim hides its step from others. */
  abandonedUntil: number | null
  /** Place of its last write among all writes. */
  order: number
}

export interface MemoryOptions {
  readonly now: () => number
  readonly partitions?: number
  /**
   * Milliseconds without a heartbeat after which a server is dead; null: one server is alone, and every other owner is
   * dead.
   */
  readonly silence: number | null
}

export class Memory {
  readonly now: () => number
  readonly silence: number | null
  readonly partitions: number
  readonly contexts = new Map<ContextId, Entry>()
  readonly rows: MemoryRows
  /** The last id that was reserved in each partition. */
  readonly lastIds: number[]
  /** Servers that were ever taken for dead, by boot id. */
  readonly dead = new Set<string>()
  /** When each server was last heard of, epoch milliseconds. */
  readonly beats = new Map<string, number>()
  highestId: ContextId = 0
  /** Number of all writes of contexts. */
  writes = 0

  constructor({ now, partitions = 1, silence }: MemoryOptions) {
    this.now = now
    this.silence = silence
    this.partitions = partitions
    this.rows = new MemoryRows(now)
    this.lastIds = Array.from({ length: partitions }, (_, partition) => (partition === 0 ? 0 : partition - partitions))
  }

  /** As when the one server that has it begins anew: claims are forgotten, and no step runs. */
  reopen(): void {
    for (const entry of this.contexts.values()) {
      entry.hiddenUntil = null
      entry.abandonedUntil = entry.context.owner === null ? null : 0
    }
  }
}
