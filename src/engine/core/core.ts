// engine/core: creates the parts of the engine, in the order in which they are made of one another. Parts that use one
// another get functions that look up the other when it is needed.
import { randomUUID } from 'node:crypto'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { ByteBudget } from '../../model/byte-budget.ts'
import { CountBound } from '../../model/count-bound.ts'
import type { ContextId, ContextRecord } from '../../model/context.ts'
import { Commits, publishMove } from '../turn/commit.ts'
import { ContextCache, ContextLoader, RecordReader } from '../contexts/context-loader.ts'
import { NO_SIGNALS, type EngineParts } from '../contexts/deps.ts'
import { Heartbeat, purgesOf } from '../cluster/heartbeat.ts'
import { Servers } from '../cluster/servers.ts'
import { Idempotency } from '../idempotency/idempotency.ts'
import { KeptBroadcasts } from '../fanout/kept-broadcasts.ts'
import { Ids, Pins } from '../contexts/ids.ts'
import { Mailboxes } from '../turn/mailboxes.ts'
import { EndWebhooks } from '../on-end/end-webhooks.ts'
import { Operations } from '../operations/operations.ts'
import { UnclaimedEvents } from '../pending/unclaimed-events.ts'
import type { StartedAt } from '../record/views.ts'
import { Redelivery, wakeUpsOf } from '../cluster/redelivery.ts'
import { RefusalLog } from '../fanout/outcomes.ts'
import { Admission } from '../turn/admission.ts'
import { Claims } from '../cluster/claims.ts'
import { Recovery } from '../cluster/recovery.ts'
import { Steps, type StepsParts } from '../steps/steps.ts'
import type { TurnEnv } from '../turn/message.ts'
import { Waits } from '../waits/waits.ts'
import { Deliveries } from '../deliveries/deliveries.ts'
import { stepKindOf } from '../interpreter/position.ts'

/** What is given: `apiOf` is made of the parts, and of what calls do. */
export interface Given extends EngineParts, Pick<StepsParts, 'apiOf'> {}

/** Until a unit of work is there. */
const NO_PAST = { historyOf: () => [] }

class WithGiven {
  readonly given: Given

  constructor(given: Given) {
    this.given = given
  }
}

/** The parts of one engine. Each is made of what is given, and of parts above it. */
export class EngineCore extends WithGiven {
  /** What is given, and the parts that are there already. */
  get #parts(): Given & this {
    return { ...this.given, ...this }
  }

  /** What a turn depends on in addition to the context and its messages. */
  readonly env = (): TurnEnv => ({
    now: this.given.clock.now(),
    random: this.given.random ?? Math.random,
    uuid: this.given.uuid ?? randomUUID,
    owner: this.servers.own,
    tagLimits: this.given.tagLimits,
    partitions: this.given.store.partitions,
    maxRecord: this.given.memory.record,
    receiptsMs: this.given.idempotency.kept,
    admit: this.#admit,
    budget: new WorkBudget(),
    past: NO_PAST,
  })

  readonly #admit: TurnEnv['admit'] = (flux, state) => this.admission.take(stepKindOf(flux, state))

  /** A step of that context is ready to be claimed. */
  readonly ready = ({ id, state, isPaused }: ContextRecord, flux: CompiledFlux): void =>
    isPaused ? undefined : this.claims.ready(id, stepKindOf(flux, state))

  readonly startedAt: StartedAt = (step) => this.steps.startedAt(step)

  /** Notifies the other servers to check that context. */
  readonly notifyOthers = (id: ContextId): void => this.feed?.notify(id)

  /** Aborted when the engine closes. */
  readonly life = new AbortController()
  /**
   * Closed while the server is paused, from its start. Until it is resumed, it serves what only reads, and does nothing
   * of its own: it takes no lease, notifies no context, and sends, purges and claims nothing.
   */
  readonly gate = { isClosed: false }
  readonly signals = this.given.signals ?? NO_SIGNALS
  /** Messages from and to other servers; null: there are none. */
  readonly feed = this.given.others?.feed ?? null
  /** Milliseconds between heartbeats; null: there are no other servers. */
  readonly beat = this.given.others?.beat ?? null
  readonly servers = new Servers(this.#parts)
  readonly cache = new ContextCache(this.given.memory.cache)
  /** Approximate bytes of memory that concurrent reads may take together. */
  readonly bytes = this.given.memory.steps
  readonly loader = new ContextLoader(this.#parts)
  /** For contexts that turns and callers parse. */
  readonly turns = new ByteBudget({ bytes: this.bytes, what: 'contexts' })
  readonly reader = new RecordReader(this.#parts)
  /** Gives steps their slots, and memory for their data. */
  readonly admission = new Admission({
    ...this.#parts,
    budget: new ByteBudget({ bytes: this.bytes, what: 'steps' }),
  })
  readonly waits = new Waits({
    ...this.#parts,
    bound: new CountBound({ limit: this.given.bounds.waits, what: 'requests that wait for a context' }),
  })
  readonly commits = new Commits({
    ...this.#parts,
    onStep: (step, slot, { flux, record, traceparent }) => this.steps.start(step, flux, slot, record, traceparent),
    onReady: ({ record, flux }) => this.ready(record, flux),
    onEnd: (id, flux) => {
      this.steps.abort(id)
      if (flux.onEnd) this.ends.onOwed(flux)
    },
    onOthers: this.notifyOthers,
    onParent: (id) => void this.redelivery.deliver(id, { type: 'WAKE' }),
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
  readonly mailboxes = new Mailboxes({
    ...this.#parts,
    ids: new Ids(this.given.store),
    pins: new Pins(this.given.store, this.given.clock),
    maxCalls: this.given.bounds.commits,
  })
  readonly redelivery = new Redelivery({
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
  readonly wakeUps = wakeUpsOf(this.#parts)
  readonly ends = new EndWebhooks(this.#parts)
  readonly steps = new Steps({
    ...this.#parts,
    answer: (id, input) => this.redelivery.deliver(id, input),
  })
  readonly recovery = new Recovery(this.#parts)
  readonly claims = new Claims(this.#parts)
  readonly heartbeat = new Heartbeat(this.#parts)
  readonly purges = purgesOf(this.given)
  readonly refusals: Pick<RefusalLog, 'log'> = new RefusalLog(this.given)
  readonly idempotency = new Idempotency(this.given)
  readonly unclaimed = new UnclaimedEvents(this.#parts)
  readonly broadcasts = new CountBound({ limit: this.given.bounds.broadcasts, what: 'broadcasts under way' })
  readonly keptBroadcasts = new KeptBroadcasts(this.#parts)
  readonly operations = new Operations(this.#parts)
  readonly deliveries = new Deliveries(this.given)

  constructor(given: Given) {
    super(given)
    this.feed?.onNotified((id) => void this.steps.check(id))
  }
}

/** The parts, and what they were given. */
export const partsOf = (core: EngineCore) => ({ ...core.given, ...core })
export type Parts = ReturnType<typeof partsOf>
