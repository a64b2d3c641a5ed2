// A store in memory that servers share, and their clock.
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { BenchOptions } from './engine.ts'
import { SILENT_FEED } from './silent.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'

export const BEAT_MS = 1000
/** Without a heartbeat for so long a server is dead. */
export const LEASE_MS = 7 * BEAT_MS

export class SharedMemory {
  readonly clock: SimulatedClock
  readonly memory: Memory

  constructor(partitions = 1, clock = new SimulatedClock()) {
    this.clock = clock
    this.memory = new Memory({ now: () => clock.now(), silence: LEASE_MS, partitions })
  }

  store(): MemoryStore {
    return new MemoryStore(this.memory)
  }

  /** What another server is opened with. */
  server(store: Store = this.store()) {
    return { clock: this.clock, store, others: { beat: BEAT_MS, feed: SILENT_FEED } } satisfies BenchOptions
  }
}
