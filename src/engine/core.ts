// engine: creates its parts, each in a function of its own. Parts that use one another get functions that look up the
// other when it is needed, so the order of creation matters only to constructors.
import { randomUUID } from 'node:crypto'
import { apiOf, type Calls } from '../api/calls.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { SYSTEM } from '../model/caller.ts'
import { CountBound } from '../model/count-bound.ts'
import type { ContextId } from '../model/context.ts'
import { Turnstile } from '../model/turnstile.ts'
import type { ContextRecord } from '../model/record.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { Signals } from '../ports/signals.ts'
import type { Access, CallEnv, CallParts } from './calls/call-env.ts'
import { EventHints } from './calls/event-hint.ts'
import { callsOf } from './calls/handlers.ts'
import { KnownServices, ServiceCounts } from './calls/service-counts.ts'
import { ShownContexts } from './calls/shown-contexts.ts'
import { StartTimes } from './operations/start-times.ts'
import { Commits } from './turn/commit.ts'
import { ContextCache } from './contexts/context-cache.ts'
import { ContextLoader } from './contexts/context-loader.ts'
import { RecordReader } from './contexts/record-reader.ts'
import { NO_SIGNALS, type EngineParts } from './contexts/deps.ts'
import { Gate } from './calls/call-env.ts'
import { Heartbeat } from './cluster/heartbeat.ts'
import { Idempotency } from './idempotency/idempotency.ts'
import { KeptBroadcasts } from './fanout/kept-broadcasts.ts'
import { Ids, storeIdOf, type StoreId } from './contexts/ids.ts'
import { Mailboxes } from './turn/mailboxes.ts'
import { MoveMessages } from './turn/move-messages.ts'
import { EndWebhooks } from './on-end/end-webhooks.ts'
import { Operations } from './operations/operations.ts'
import { HeldEvents } from './pending/held-events.ts'
import { Pins } from './contexts/pins.ts'
import type { Step } from './interpreter/position.ts'
import type { StartedAt } from './record/views.ts'
import { Redelivery } from './cluster/redelivery.ts'
import { RefusalLog } from './fanout/refusal-log.ts'
import { Admission } from './turn/admission.ts'
import { Claims } from './cluster/claims.ts'
import { Recovery } from './cluster/recovery.ts'
import { Steps } from './steps/steps.ts'
import { Identity, Servers } from './cluster/servers.ts'
import { Timers } from './cluster/timers.ts'
import type { TurnEnv } from './turn/unit-of-work.ts'
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

/** The parts of one engine. */
export class EngineCore {
  readonly given: EngineParts
  /** Aborted when the engine closes. */
  readonly life = new AbortController()
  readonly identity: Identity
  readonly gate = new Gate()
  readonly signals: Signals
  readonly cache: ContextCache
  readonly loader: ContextLoader
  readonly reader: RecordReader
  /** For contexts that turns and callers parse. */
  readonly turns: ByteBudget
  /** Gives steps their slots, and memory for their data. */
  readonly admission: Admission
  readonly waits: Waits
  readonly shown: ShownContexts
  readonly broadcasts: CountBound
  readonly moves: MoveMessages
  readonly commits: Commits
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly timers: Timers
  readonly refusals: RefusalLog
  readonly hints: EventHints
  readonly steps: Steps
  readonly recovery: Recovery
  readonly claims: Claims
  readonly heartbeat: Heartbeat
  readonly idempotency: Idempotency
  readonly keptBroadcasts: KeptBroadcasts
  readonly operations: Operations
  readonly held: HeldEvents
  readonly deliveries: Deliveries
  readonly webhooks: WebhookApi
  readonly startTimes: StartTimes
  #callParts: CallParts | null = null
  readonly servers: Servers
  readonly ends: EndWebhooks
  readonly storeId: StoreId

  constructor(given: EngineParts) {
    const { store, catalog, alarm, clock, log, memory, others, runner, slots } = given
    this.given = given
    this.signals = given.signals ?? NO_SIGNALS
    this.identity = new Identity(given.onOwner)
    const { beat = null } = others ?? {}
    this.servers = new Servers({ ...this, store, clock, beat })
    this.cache = new ContextCache(memory.cache)
    this.loader = new ContextLoader({ store, catalog, cache: this.cache, bytes: memory.steps })
    this.turns = new ByteBudget({ bytes: memory.steps, what: 'contexts' })
    this.reader = new RecordReader({ ...this, store, catalog, bytes: memory.steps })
    this.admission = new Admission({ slots, runner, budget: new ByteBudget({ bytes: memory.steps, what: 'steps' }) })
    const waits = new CountBound({ limit: given.bounds.waits, what: 'requests that wait for a context' })
    this.waits = new Waits({ store, clock, log, feed: others?.feed ?? null, bound: waits })
    this.broadcasts = new CountBound({ limit: given.bounds.broadcasts, what: 'broadcasts under way' })
    this.moves = new MoveMessages(given.moves ?? null)
    this.commits = commitsOf(this)
    this.mailboxes = mailboxesOf(this)
    this.redelivery = redeliveryOf(this)
    this.timers = new Timers({ ...this, store, alarm, clock, log })
    this.refusals = new RefusalLog({ log, clock })
    this.hints = new EventHints(catalog)
    this.storeId = storeIdOf(store)
    this.ends = new EndWebhooks({ ...given, ...this })
    this.steps = stepsOf(this)
    this.shown = new ShownContexts({ ...this, store, catalog, log, now: () => clock.now() })
    others?.feed.onNotified((id) => void this.steps.check(id))
    this.recovery = new Recovery({ ...this, store, log })
    this.claims = new Claims({
      ...this,
      ...given,
      feed: others?.feed ?? null,
      owner: () => this.identity.owner,
      isHeld: () => this.gate.isClosed,
    })
    this.heartbeat = new Heartbeat({ ...this, store, clock, log, every: beat })
    this.idempotency = new Idempotency({ store, clock, ...given.idempotency })
    const { kept } = given.idempotency
    this.held = new HeldEvents({ ...this, store, clock, log }, { receiptsMs: kept, max: given.bounds.pending })
    const broadcasting = { store, catalog, clock, log, kept, bound: this.broadcasts }
    this.keptBroadcasts = new KeptBroadcasts({ ...this, ...broadcasting })
    this.startTimes = new StartTimes(store)
    this.operations = new Operations({ ...this, store, catalog, clock, log })
    const { deliveries: max, settlementOf } = given.webhooks
    this.deliveries = new Deliveries({ store, catalog, clock, log, max, settlementOf })
    this.webhooks = webhooks({
      ...given,
      ...this,
      feed: others?.feed ?? null,
      keptMs: given.idempotency.keptOfWebhooks,
      envOf: (access) => this.callEnv(access),
    })
  }

  /** What a turn depends on in addition to the context and its messages. */
  readonly env = (): TurnEnv => ({
    now: this.given.clock.now(),
    random: Math.random,
    uuid: randomUUID,
    owner: this.identity.owner,
    tagLimits: this.given.tagLimits,
    maxRecord: this.given.memory.record,
    receiptsMs: this.given.idempotency.kept,
    admit: this.#admit,
  })

  readonly #admit: TurnEnv['admit'] = (flux, state) => this.admission.take(this.admission.kindOf(flux, state))

  /** A step of that context is ready to be claimed. */
  readonly ready = ({ id, state, isPaused }: ContextRecord, flux: CompiledFlux): void =>
    isPaused ? undefined : this.claims.ready(id, this.admission.kindOf(flux, state))

  readonly startedAt = (step: Step): ReturnType<StartedAt> => this.steps.startedAt(step)

  /** Notifies the other servers to check that context. */
  readonly notifyOthers = (id: ContextId): void => this.given.others?.feed.notify(id)

  /** The calls, bound to a caller and its permissions. */
  readonly calls = (access: Access): Calls => callsOf(this.callEnv(access))

  /** What a call of that caller uses. */
  callEnv(access: Access): CallEnv {
    this.#callParts ??= callPartsOf(this)
    return { ...this.#callParts, ...access }
  }
}

function commitsOf(core: EngineCore): Commits {
  return new Commits({
    ...core.given,
    cache: core.cache,
    moves: core.moves,
    signals: core.signals,
    owner: () => core.identity.owner,
    onStep: (step, slot, { flux, record, traceparent }) => core.steps.start(step, flux, slot, record, traceparent),
    onReady: ({ record, flux }) => core.ready(record, flux),
    onEnd(id, flux) {
      core.steps.abort(id)
      if (flux.onEnd) core.ends.onOwed(flux)
    },
    onOthersStep: core.notifyOthers,
    onParent: (id) => core.timers.notifyParent(id),
    onAnswer: (id) => (core.waits.hasCaller(id) ? undefined : core.notifyOthers(id)),
    onCommitted: ({ record, history }) => core.waits.onCommit(record, history),
    onUnknownOutcome: (id) => void core.redelivery.reconcile(id),
    onLookups: (writes) => core.held.onWaiting(writes),
  })
}

function mailboxesOf({
  given: { store, log, catalog, clock, bounds, traces },
  cache,
  loader,
  turns,
  commits,
  env,
  signals,
}: EngineCore): Mailboxes {
  const parts = { store, log, catalog, cache, loader, turns, commits, env, signals, traces }
  return new Mailboxes({ ...parts, ids: new Ids(store), pins: new Pins(store, clock), maxCalls: bounds.commits })
}

function redeliveryOf(core: EngineCore): Redelivery {
  const { alarm, clock, log } = core.given
  return new Redelivery({
    mailboxes: core.mailboxes,
    alarm,
    clock,
    log,
    steps: () => core.steps,
    owner: () => core.identity.owner,
    isClaimed: (id) => core.claims.has(id),
    onReady: core.ready,
    ended: core.life.signal,
    onEnd(id) {
      core.notifyOthers(id)
      core.ends.look()
    },
  })
}

const OF_STEPS = { caller: SYSTEM, admission: null, isStep: true, accepts: false }

function stepsOf(core: EngineCore): Steps {
  const { runner, dispatcher, slots, clock, log, secrets } = core.given
  return new Steps({
    storeId: core.storeId,
    secrets,
    dispatcher,
    runner,
    slots,
    clock,
    log,
    signals: core.signals,
    traces: core.given.traces,
    loader: core.loader,
    turns: core.turns,
    answer: (id, input) => core.redelivery.deliver(id, input),
    // The calls of a step are part of work that was already accepted, so they are not refused for lack of memory.
    apiOf: ({ id, package: home }, traceparent) =>
      apiOf(core.calls({ ...OF_STEPS, scope: `context ${id}`, home, traceparent })),
  })
}

/** Copied for each request, so it has only what calls use. */
function callPartsOf({ given, ...core }: EngineCore): CallParts {
  const { store, catalog, log, tagLimits, clock, bounds, webhooks, memory } = given
  const { signals, gate, mailboxes, hints, refusals, idempotency, keptBroadcasts, operations, startedAt } = core
  const { waits, shown, broadcasts, held, deliveries, reader, turns, startTimes } = core
  const now = () => clock.now()
  return {
    now,
    store,
    catalog,
    signals,
    gate,
    mailboxes,
    hints,
    log,
    refusals,
    idempotency,
    keptBroadcasts,
    operations,
    tagLimits,
    startedAt,
    waits,
    shown,
    broadcasts,
    held,
    answeredBroadcast: bounds.answeredBroadcast,
    webhooks: core.webhooks,
    deliveries,
    settlementOf: webhooks.settlementOf,
    serviceCounts: new ServiceCounts({ store, catalog, now }),
    reader,
    turns,
    lists: new Turnstile(MAX_LISTS, { waiting: MAX_WAITING, what: 'lists' }),
    counts: new Turnstile(MAX_COUNTS, { waiting: MAX_WAITING, what: 'counts of contexts' }),
    searches: new Turnstile(MAX_SEARCHES, { waiting: MAX_WAITING, what: 'searches through many contexts' }),
    startTimes,
    knownServices: new KnownServices(store),
    replays: new CountBound({ limit: MAX_REPLAYS, what: 'deliveries that are sent again' }),
    requests: memory.requests,
  }
}
