// main: the limits of an engine: those of the settings, and those that follow from the heap that Node gives the process,
// which is divided between what is in flight and the cache of contexts.
import { getHeapStatistics } from 'node:v8'
import type { EngineParts } from '../engine/engine.ts'
import { settlementOf } from '../http/webhooks/reply.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { Slots } from '../model/slots.ts'
import type { Settings } from '../settings.ts'

/** Most fields of a form or a query of a webhook. */
export const MAX_PARTS = 1000

/** The limits of the settings. */
export function limitsOf(settings: Settings) {
  return {
    retention: settings.retention,
    idempotency: {
      kept: settings.idempotency,
      max: settings.maxIdempotency,
      keptOfWebhooks: settings.webhookIdempotency,
    },
    slots: new Slots({ code: settings.stepConcurrency, isolated: settings.isolated }),
    tagLimits: { count: settings.maxTags, bytes: settings.maxTagBytes },
    bounds: {
      commits: settings.maxCommits,
      broadcasts: settings.maxBroadcasts,
      waits: settings.maxWaits,
      pending: settings.maxPending,
      answeredBroadcast: settings.broadcastAsync,
    },
    webhooks: { deliveries: settings.deliveries, settlementOf },
  } satisfies Partial<EngineParts>
}

/** Shares of the heap: what may be in flight, and the cache of contexts. */
const HEAP_SHARES = { inFlight: 1 / 4, cache: 1 / 3 }

/** Shares of what may be in flight; the rest is for contexts that turns have parsed. */
const IN_FLIGHT_SHARES = { requests: 3 / 8, waiting: 1 / 8, steps: 1 / 4 }
/** Share of the memory for requests that requests to webhooks may take before they are verified. */
const UNVERIFIED_SHARE = 1 / 2

/** The limits that follow from the settings and from the heap that Node gives the process. */
export function memoryOf({ maxInFlight, maxRecord }: Settings) {
  const heap = getHeapStatistics().heap_size_limit
  const inFlight = maxInFlight ?? heap * HEAP_SHARES.inFlight
  const requests = inFlight * IN_FLIGHT_SHARES.requests
  return {
    requests: new ByteBudget({ bytes: requests, what: 'requests' }),
    /** For requests to webhooks whose senders are not known yet. */
    unverified: new ByteBudget({ bytes: requests * UNVERIFIED_SHARE, what: 'webhooks that are not verified yet' }),
    /** For callers of webhooks that wait for their answers. */
    waiting: new ByteBudget({ bytes: inFlight * IN_FLIGHT_SHARES.waiting, what: 'webhooks that wait' }),
    steps: inFlight * IN_FLIGHT_SHARES.steps,
    cache: heap * HEAP_SHARES.cache,
    record: maxRecord,
  }
}
