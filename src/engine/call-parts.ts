// engine: what the calls use of the engine.
import { CountBound } from '../model/count-bound.ts'
import { Turnstile } from '../model/turnstile.ts'
import type { CallParts } from './calls/call-env.ts'
import { ServiceCounts } from './calls/service-counts.ts'
import { KnownServices } from './calls/known-services.ts'
import { StartTimes } from './calls/start-times.ts'
import type { EngineParts } from './engine-parts.ts'

/** Deliveries of webhooks that are sent again at once; each may wait for its workflow. */
const MAX_REPLAYS = 16
/** Lists that are gathered at once; each takes a few MB of memory until it is written. */
const MAX_LISTS = 8
/** Counts of contexts at once: each may look at all of them in the index. */
const MAX_COUNTS = 16
/** Counts and lists at once that may read all contexts, which takes fifty times as long. */
const MAX_SEARCHES = 8
/** Lists, counts, and searches, that wait for others to end. */
const MAX_WAITING = 200

/** What the engine itself is made of. */
type Own = Pick<
  CallParts,
  | 'signals'
  | 'gate'
  | 'mailboxes'
  | 'hints'
  | 'refusals'
  | 'startedAt'
  | 'waits'
  | 'shown'
  | 'reader'
  | 'turns'
  | 'broadcasts'
  | 'idempotency'
  | 'keptBroadcasts'
  | 'operations'
  | 'held'
  | 'webhooks'
  | 'deliveries'
>

export function callPartsOf({ given, ...core }: Own & { readonly given: EngineParts }): CallParts {
  const { store, catalog, log, tagLimits, clock, bounds, webhooks, memory } = given
  const now = () => clock.now()
  return {
    now,
    store,
    catalog,
    signals: core.signals,
    gate: core.gate,
    mailboxes: core.mailboxes,
    hints: core.hints,
    log,
    refusals: core.refusals,
    idempotency: core.idempotency,
    keptBroadcasts: core.keptBroadcasts,
    operations: core.operations,
    tagLimits,
    startedAt: core.startedAt,
    waits: core.waits,
    shown: core.shown,
    broadcasts: core.broadcasts,
    held: core.held,
    answeredBroadcast: bounds.answeredBroadcast,
    webhooks: core.webhooks,
    deliveries: core.deliveries,
    settlementOf: webhooks.settlementOf,
    serviceCounts: new ServiceCounts({ store, catalog, log, now }),
    reader: core.reader,
    turns: core.turns,
    lists: new Turnstile(MAX_LISTS, { waiting: MAX_WAITING, what: 'lists' }),
    counts: new Turnstile(MAX_COUNTS, { waiting: MAX_WAITING, what: 'counts of contexts' }),
    searches: new Turnstile(MAX_SEARCHES, { waiting: MAX_WAITING, what: 'searches through many contexts' }),
    startTimes: new StartTimes(store),
    knownServices: new KnownServices(store),
    replays: new CountBound({ limit: MAX_REPLAYS, what: 'deliveries that are sent again' }),
    requests: memory.requests,
  }
}
