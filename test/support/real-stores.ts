// Servers on the stores that users have, one after the other or at once on the same data.
import { randomUUID } from 'node:crypto'
import { openBench, type Bench, type BenchOptions, type Files } from './engine.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { SILENT_FEED } from './silent.ts'
import { openRedis } from './redis-store.ts'

/** Name and partitions; null: the embedded store. */
export const REAL_STORES = [
  ['the embedded store', null],
  ['Redis', 1],
  ['Redis, in three partitions', 3],
] as const

const BEAT_MS = 60_000
/** Redis goes by its own time, which is the real one: what is due by the clock is due there as well. */
const HALF_A_DAY_MS = 43_200_000
/** More than any test moves its clock: to Redis, which goes by real time, no server is dead. */
const DEAD_AFTER_MS = 600_000

export interface RealStore {
  readonly bench: Bench
  /** Stops that server, and starts another one on the same data, perhaps with other services. */
  again(files?: Files): Promise<Bench>
}

/** Opens a server with those services; it is gone at the end of the test. */
export async function openOnReal(
  partitions: number | null,
  files: Files,
  options: BenchOptions = {},
): Promise<RealStore> {
  const clock = new SimulatedClock(Date.now() - HALF_A_DAY_MS)
  const namespace = `test-${randomUUID()}`
  const open = async (services: Files, folder?: string): Promise<Bench> => {
    const store = partitions && (await openRedis({ namespace, partitions, deadAfterMs: DEAD_AFTER_MS }))
    const place = { ...options, clock, ...(folder !== undefined && { folder }) }
    return openBench(
      services,
      store ? { ...place, store, others: { beat: BEAT_MS, feed: SILENT_FEED } } : { ...place, onDisk: true },
    )
  }
  const bench = await open(files)
  let latest = bench
  return {
    bench,
    async again(services = {}) {
      await latest.engine.close({ grace: 0 })
      latest = await open(services, bench.folder)
      return latest
    },
  }
}
