// main: divides the memory of the process between what is in flight and the cache of contexts.
import { getHeapStatistics } from 'node:v8'
import type { MemoryLimits } from '../engine/contexts/context-loader.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import type { Settings } from '../settings.ts'

/** Shares of the heap: what may be in flight, and the cache of contexts. */
const HEAP_SHARES = { inFlight: 1 / 4, cache: 1 / 3 }

/** Shares of what may be in flight; the rest is for contexts that turns have parsed. */
const IN_FLIGHT_SHARES = { requests: 3 / 8, waiting: 1 / 8, steps: 1 / 4 }
/** Share of the memory for requests that requests to webhooks may take before they are verified. */
const UNVERIFIED_SHARE = 1 / 2

export interface ServerMemory extends MemoryLimits {
  /** For callers of webhooks that wait for their answers. */
  readonly waiting: ByteBudget
  /** For requests to webhooks whose senders are not known yet. */
  readonly unverified: ByteBudget
}

/** The limits that follow from the settings and from the heap that Node gives the process. */
export function memoryOf({ maxInFlight, maxRecord }: Settings): ServerMemory {
  const heap = getHeapStatistics().heap_size_limit
  const inFlight = maxInFlight ?? heap * HEAP_SHARES.inFlight
  const requests = inFlight * IN_FLIGHT_SHARES.requests
  return {
    requests: new ByteBudget({ bytes: requests, what: 'requests' }),
    unverified: new ByteBudget({ bytes: requests * UNVERIFIED_SHARE, what: 'webhooks that are not verified yet' }),
    waiting: new ByteBudget({ bytes: inFlight * IN_FLIGHT_SHARES.waiting, what: 'webhooks that wait' }),
    steps: inFlight * IN_FLIGHT_SHARES.steps,
    cache: heap * HEAP_SHARES.cache,
    record: maxRecord,
  }
}
