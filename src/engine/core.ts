// engine: creates its parts, in the order in which they are made of one another. Parts that use one another get functions
// that look up the other when it is needed.
import { randomUUID } from 'node:crypto'
import { apiOf, type Calls } from '../api/calls.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { SYSTEM } from '../model/caller.ts'
import { CountBound } from '../model/count-bound.ts'
import type { ContextId, ContextRecord } from '../model/context.ts'
import { Turnstile } from '../model/turnstile.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { CommitFeed } from '../ports/feeds.ts'
import type { Signals } from '../ports/signals.ts'
import type { Access, CallEnv, Gate } from './calls/call-env.ts'
import { callsOf } from './calls/handlers.ts'
import { KnownServices, ServiceCounts } from './calls/service-counts.ts'
import { ShownContexts } from './calls/shown-contexts.ts'
import { StartTimes } from './operations/selection.ts'
import { Commits, publishMove } from './turn/commit.ts'
import { ContextCache, ContextLoader, RecordReader } from './contexts/context-loader.ts'
import { NO_SIGNALS, type EngineParts } from './contexts/deps.ts'
import { Heartbeat, purgesOf } from './cluster/heartbeat.ts'
import { Servers } from './cluster/servers.ts'
import { Idempotency } from './idempotency/idempotency.ts'
import { KeptBroadcasts } from './fanout/kept-broadcasts.ts'
import { Ids, storeIdOf, type StoreId, Pins } from './contexts/ids.ts'
import { Mailboxes } from './turn/mailboxes.ts'
import { EndWebhooks } from './on-end/end-webhooks.ts'
import { Operations } from './operations/operations.ts'
import { UnclaimedEvents } from './pending/unclaimed-events.ts'
import type { StartedAt } from './record/views.ts'
import { Redelivery, Timers } from './cluster/redelivery.ts'
import { RefusalLog } from './fanout/outcomes.ts'
import { Admission } from './turn/admission.ts'
import { Claims } from './cluster/claims.ts'
import { Recovery } from './cluster/recovery.ts'
import { Steps } from './steps/steps.ts'
import type { TurnEnv } from './turn/message.ts'
import { Waits } from './waits/waits.ts'
import { Deliveries } from './deliveries/deliveries.ts'
import { webhooks } from './webhooks/webhooks.ts'

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

/** Of calls of steps. */
const OF_STEPS = { caller: SYSTEM, admission: null, isStep: true, accepts: false }

class Given {
  readonly given: EngineParts

  constructor(given: EngineParts) {
    this.given = given
  }
}

/** The parts of one engine. Each is made of what is given, and of parts above it. */
export class EngineCore extends Given {
  /** What is given, and the parts that are there already. */
  get #parts() {
    return { ...this.given, ...this }
  }

  /** What a turn depends on in addition to the context and its messages. */
  readonly env = (): TurnEnv => ({
    now: this.given.clock.now(),
    random: Math.random,
    uuid: randomUUID,
    owner: this.servers.own,
    tagLimits: this.given.tagLimits,
    partitions: this.given.store.partitions,
    maxRecord: this.given.memory.record,
    receiptsMs: this.given.idempotency.kept,
    admit: this.#admit,
  })

  readonly #admit: TurnEnv['admit'] = (flux, state) => this.admission.take(this.admission.kindOf(flux, state))

  /** A step of that context is ready to be claimed. */
  readonly ready = ({ id, state, isPaused }: ContextRecord, flux: CompiledFlux): void =>
    isPaused ? undefined : this.claims.ready(id, this.admission.kindOf(flux, state))

  readonly startedAt: StartedAt = (step) => this.steps.startedAt(step)

  /** Notifies the other servers to check that context. */
  readonly notifyOthers = (id: ContextId): void => this.feed?.notify(id)

  /** The calls, bound to a caller and its permissions. */
  readonly calls = (access: Access): Calls => callsOf(this.envOf(access))

  /** What a call of that caller uses. */
  readonly envOf = (access: Access): CallEnv => ({ ...(this.#shared ??= this.#parts), ...access })

  /** Aborted when the engine closes. */
  readonly life = new AbortController()
  readonly gate: Gate = { isClosed: false }
  readonly signals: Signals = this.given.signals ?? NO_SIGNALS
  /** Of and for other servers; null: there are none. */
  readonly feed: CommitFeed | null = this.given.others?.feed ?? null
  /** Milliseconds between heartbeats; null: there are no other servers. */
  readonly beat: number | null = this.given.others?.beat ?? null
  readonly servers: Servers = new Servers(this.#parts)
  readonly storeId: StoreId = storeIdOf(this.given.store)
  readonly cache = new ContextCache(this.given.memory.cache)
  /** Approximate bytes of memory that concurrent reads may take together. */
  readonly bytes: number = this.given.memory.steps
  readonly loader: ContextLoader = new ContextLoader(this.#parts)
  /** For contexts that turns and callers parse. */
  readonly turns = new ByteBudget({ bytes: this.bytes, what: 'contexts' })
  readonly reader: RecordReader = new RecordReader(this.#parts)
  /** Gives steps their slots, and memory for their data. */
  readonly admission: Admission = new Admission({
    ...this.#parts,
    budget: new ByteBudget({ bytes: this.bytes, what: 'steps' }),
  })
  readonly waits: Waits = new Waits({
    ...this.#parts,
    bound: new CountBound({ limit: this.given.bounds.waits, what: 'requests that wait for a context' }),
  })
  readonly commits: Commits = new Commits({
    ...this.#parts,
    onStep: (step, slot, { flux, record, traceparent }) => this.steps.start(step, flux, slot, record, traceparent),
    onReady: ({ record, flux }) => this.ready(record, flux),
    onEnd: (id, flux) => {
      this.steps.abort(id)
      if (flux.onEnd) this.ends.onOwed(flux)
    },
    onOthersStep: this.notifyOthers,
    onParent: (id) => this.timers.notifyParent(id),
    onAnswer: (id) => (this.waits.hasCaller(id) ? undefined : this.notifyOthers(id)),
    onCommitted: (context) => {
      this.waits.onCommit(context.record, context.history)
      publishMove(this.given.moves, context)
    },
    onUnknownOutcome: (id) => {
      if (this.given.moves?.isActive) this.given.moves.miss()
      void this.redelivery.reconcile(id)
    },
    onLookups: (writes) => this.unclaimed.onWaiting(writes),
  })
  readonly mailboxes: Mailboxes = new Mailboxes({
    ...this.#parts,
    ids: new Ids(this.given.store),
    pins: new Pins(this.given.store, this.given.clock),
    maxCalls: this.given.bounds.commits,
  })
  readonly redelivery: Redelivery = new Redelivery({
    ...this.#parts,
    steps: () => this.steps,
    isClaimed: (id) => this.claims.has(id),
    onReady: this.ready,
    ended: this.life.signal,
    onEnd: (id) => {
      this.notifyOthers(id)
      this.ends.look()
    },
  })
  readonly timers: Timers = new Timers(this.#parts)
  readonly ends: EndWebhooks = new EndWebhooks(this.#parts)
  readonly steps: Steps = new Steps({
    ...this.#parts,
    answer: (id, input) => this.redelivery.deliver(id, input),
    // The calls of a step are part of work that was already accepted, so they are not refused for lack of memory.
    apiOf: ({ id, package: home }, traceparent) =>
      apiOf(this.calls({ ...OF_STEPS, scope: `context ${id}`, home, traceparent })),
  })
  readonly recovery: Recovery = new Recovery(this.#parts)
  readonly claims: Claims = new Claims(this.#parts)
  readonly heartbeat: Heartbeat = new Heartbeat(this.#parts)
  readonly purges = purgesOf(this.given)
  readonly refusals = new RefusalLog(this.given)
  readonly idempotency: Idempotency = new Idempotency({ ...this.#parts, ...this.given.idempotency })
  readonly unclaimed: UnclaimedEvents = new UnclaimedEvents({
    ...this.#parts,
    receiptsMs: this.given.idempotency.kept,
    max: this.given.bounds.pending,
  })
  readonly broadcasts = new CountBound({ limit: this.given.bounds.broadcasts, what: 'broadcasts under way' })
  readonly keptBroadcasts: KeptBroadcasts = new KeptBroadcasts({
    ...this.#parts,
    kept: this.given.idempotency.kept,
    bound: this.broadcasts,
  })
  readonly startTimes = new StartTimes(this.given.store)
  readonly operations: Operations = new Operations(this.#parts)
  readonly deliveries: Deliveries = new Deliveries({
    ...this.given,
    max: this.given.webhooks.deliveries,
    settlementOf: this.given.webhooks.settlementOf,
  })
  readonly webhooks: WebhookApi = webhooks({ ...this.#parts, keptMs: this.given.idempotency.keptOfWebhooks })
  readonly shown: ShownContexts = new ShownContexts(this.#parts)
  readonly serviceCounts = new ServiceCounts(this.given)
  readonly knownServices = new KnownServices(this.given.store)
  readonly lists = new Turnstile(MAX_LISTS, { waiting: MAX_WAITING, what: 'lists' })
  readonly counts = new Turnstile(MAX_COUNTS, { waiting: MAX_WAITING, what: 'counts of contexts' })
  readonly searches = new Turnstile(MAX_SEARCHES, { waiting: MAX_WAITING, what: 'searches through many contexts' })
  readonly replays = new CountBound({ limit: MAX_REPLAYS, what: 'deliveries that are sent again' })
  /** All parts, copied once for all calls. */
  #shared: Omit<CallEnv, keyof Access> | null = null

  constructor(given: EngineParts) {
    super(given)
    this.feed?.onNotified((id) => void this.steps.check(id))
  }
}
