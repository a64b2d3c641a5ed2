// engine: its parts, each made by a function of its own. Parts that use one another get functions that look the other
// up when it is needed, so the order in which they are made here matters only to their constructors.
import { randomUUID } from 'node:crypto'
import type { FluxApi } from '../api/flux-api.ts'
import type { Catalog } from '../definitions/catalog.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { SYSTEM } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import type { TagLimits } from '../model/tags.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { CommitFeed } from '../ports/commit-feed.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import type { Store } from '../ports/store.ts'
import type { Access, CallParts } from './calls/call-env.ts'
import { EventHints } from './calls/event-hint.ts'
import { facade } from './calls/facade.ts'
import { Commits } from './commit.ts'
import { ContextCache } from './context-cache.ts'
import { ContextLoader, type MemoryLimits } from './context-loader.ts'
import { Heartbeat, Identity } from './heartbeat.ts'
import { Ids } from './ids.ts'
import { Mailboxes } from './mailboxes.ts'
import { Pins } from './pins.ts'
import { Redelivery } from './redelivery.ts'
import { RefusalLog } from './refusal-log.ts'
import { Cancels } from './steps/cancel.ts'
import { Recovery } from './steps/recovery.ts'
import { Steps } from './steps/steps.ts'
import { Timers } from './timers.ts'
import type { TurnEnv } from './unit-of-work.ts'

export interface EngineParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly runner: StepRunner
  readonly alarm: AlarmClock
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds for which finished contexts stay readable. */
  readonly retention: number
  /** Functions at once, and of those that run in processes of their own. */
  readonly stepConcurrency: number
  readonly isolated: number
  /** Null: no other server can be there. */
  readonly others: {
    /** Milliseconds between heartbeats. */
    readonly beat: number
    readonly feed: CommitFeed
  } | null
  readonly tagLimits: TagLimits
  readonly memory: MemoryLimits
  /** Called with the boot id of this server, and again when it gets another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

/** The parts of one engine. */
export class EngineCore {
  readonly given: EngineParts
  /** Aborted when the engine closes. */
  readonly life = new AbortController()
  readonly identity: Identity
  readonly cache: ContextCache
  readonly loader: ContextLoader
  /** For contexts that turns parse. */
  readonly turns: ByteBudget
  readonly commits: Commits
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly timers: Timers
  readonly refusals: RefusalLog
  readonly hints: EventHints
  readonly steps: Steps
  readonly cancels: Cancels
  readonly recovery: Recovery
  readonly heartbeat: Heartbeat

  constructor(given: EngineParts) {
    const { store, catalog, alarm, clock, log, memory, others } = given
    this.given = given
    this.identity = new Identity(given.onOwner)
    this.cache = new ContextCache(memory.cache)
    this.loader = new ContextLoader({ store, catalog, cache: this.cache, bytes: memory.steps })
    this.turns = new ByteBudget({ bytes: memory.steps, what: 'contexts' })
    this.commits = commitsOf(this)
    this.mailboxes = mailboxesOf(this)
    this.redelivery = redeliveryOf(this)
    const { mailboxes, redelivery, loader } = this
    this.timers = new Timers({ store, mailboxes, redelivery, alarm, clock, log })
    this.refusals = new RefusalLog({ log, clock })
    this.hints = new EventHints({ catalog, store, clock })
    this.steps = stepsOf(this)
    this.cancels = new Cancels({ loader, steps: this.steps, log })
    others?.feed.onNotified((id) => void this.cancels.check(id))
    this.recovery = recoveryOf(this)
    this.heartbeat = heartbeatOf(this)
  }

  /** What a turn depends on besides the context and its messages. */
  readonly env = (): TurnEnv => ({
    now: this.given.clock.now(),
    random: Math.random,
    uuid: randomUUID,
    owner: this.identity.owner,
    tagLimits: this.given.tagLimits,
    startsAtOnce: this.steps.hasRoom,
    maxRecord: this.given.memory.record,
  })

  /** Notifies the other servers that something about that context concerns one of them. */
  readonly notifyOthers = (id: ContextId): void => this.given.others?.feed.notify(id)

  /** The nine calls, as that caller may make them. */
  api(access: Access): FluxApi {
    const { mailboxes, hints, refusals, steps } = this
    const { store, catalog, log, tagLimits } = this.given
    const parts: CallParts = {
      store,
      catalog,
      mailboxes,
      hints,
      log,
      refusals,
      tagLimits,
      startedAt: (step) => steps.startedAt(step),
    }
    return facade(parts, access)
  }
}

function commitsOf(core: EngineCore): Commits {
  const { store, alarm, log } = core.given
  return new Commits({
    store,
    cache: core.cache,
    alarm,
    log,
    owner: () => core.identity.owner,
    onStep: (step, { flux, record }, texts) => core.steps.start(step, flux, { record, texts }),
    onEnd: (id) => core.steps.abort(id),
    onOthersStep: core.notifyOthers,
    onParent: (id) => core.timers.notifyParent(id),
    onAnswer: core.notifyOthers,
    onUnknownOutcome: (id) => void core.redelivery.reconcile(id),
  })
}

function mailboxesOf({
  given: { store, log, catalog, clock },
  cache,
  loader,
  turns,
  commits,
  env,
}: EngineCore): Mailboxes {
  const [ids, pins] = [new Ids(store), new Pins(store, clock)]
  return new Mailboxes({ store, log, catalog, cache, loader, turns, commits, env, ids, pins })
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
    ended: core.life.signal,
    onEnd: core.notifyOthers,
  })
}

function stepsOf(core: EngineCore): Steps {
  const { runner, clock, log, memory, stepConcurrency, isolated } = core.given
  return new Steps({
    runner,
    clock,
    log,
    loader: core.loader,
    turns: core.turns,
    budget: new ByteBudget({ bytes: memory.steps, what: 'steps' }),
    concurrency: stepConcurrency,
    isolated,
    answer: (id, input) => core.redelivery.deliver(id, input),
    // The calls of a step are part of work that was already accepted, so they are not refused for want of memory.
    apiOf: (packageName) => core.api({ caller: SYSTEM, home: packageName, admission: null }),
  })
}

function recoveryOf({
  given: { store, clock, log },
  loader,
  cache,
  commits,
  mailboxes,
  redelivery,
  steps,
  timers,
  env,
}: EngineCore): Recovery {
  return new Recovery({ store, clock, log, loader, cache, commits, mailboxes, redelivery, steps, timers, env })
}

function heartbeatOf({
  given: { store, clock, log, others },
  mailboxes,
  redelivery,
  steps,
  cancels,
  recovery,
  identity,
}: EngineCore): Heartbeat {
  const every = others?.beat ?? null
  return new Heartbeat({ store, clock, log, mailboxes, redelivery, steps, cancels, recovery, identity, every })
}
