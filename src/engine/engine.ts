// engine: its parts put together.
import { randomUUID } from 'node:crypto'
import type { Catalog } from '../definitions/catalog.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import type { FluxApi } from '../api/flux-api.ts'
import { SYSTEM, type Caller } from '../model/caller.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { ContextId } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import type { TagLimits } from '../model/tags.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { CommitFeed } from '../ports/commit-feed.ts'
import type { Log } from '../ports/log.ts'
import type { StepDispatcher, StepRunner } from '../ports/step-runner.ts'
import type { StepSlots } from '../ports/step-slots.ts'
import type { Store } from '../ports/store.ts'
import { Admission } from './steps/admission.ts'
import { Cancels } from './steps/cancel.ts'
import { Claims } from './steps/claims.ts'
import { Commits } from './commit.ts'
import { EventHints } from './calls/event-hint.ts'
import { facade } from './calls/facade.ts'
import { Heartbeat, Identity } from './heartbeat.ts'
import { Ids } from './ids.ts'
import { ContextLoader, type MemoryLimits } from './context-loader.ts'
import { Mailboxes } from './mailboxes.ts'
import { Pins } from './pins.ts'
import type { Step } from './record/position.ts'
import { ContextCache } from './context-cache.ts'
import { ReadyHints } from './steps/ready-hints.ts'
import { Recovery } from './steps/recovery.ts'
import { Redelivery } from './redelivery.ts'
import { RefusalLog } from './refusal-log.ts'
import { Retention } from './retention.ts'
import { Steps } from './steps/steps.ts'
import { Timers } from './timers.ts'
import type { TurnEnv } from './unit-of-work.ts'
import { webhooks } from './calls/webhooks.ts'

export interface EngineParts {
  readonly store: Store
  readonly catalog: Catalog
  readonly runner: StepRunner
  readonly dispatcher: StepDispatcher
  /** How many steps run here at once. */
  readonly slots: StepSlots
  readonly alarm: AlarmClock
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds for which finished contexts stay readable. */
  readonly retention: number
  /** Null: no other server can be there. */
  readonly others: {
    /** Milliseconds between heartbeats. */
    readonly beat: number
    readonly feed: CommitFeed
  } | null
  readonly tagLimits: TagLimits
  readonly memory: MemoryLimits
  /** Told the boot id of this server, and again when it has another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

export interface Engine {
  /** Why it can't serve at present; null when it can. */
  trouble(): string | null
  /** The nine calls, as that caller may make them over HTTP: how much it may send at once is that room's matter. */
  api(caller: Caller): FluxApi
  /** The nine calls for whoever has made this runtime. What they are given counts among what is in flight. */
  local(): FluxApi
  readonly webhooks: WebhookApi
  /** Claims what a dead server left, rings the alarm, begins to purge. */
  start(): Promise<void>
  /**
   * Takes nothing new, lets steps under way finish for at most `grace` milliseconds, aborts the rest (they run again
   * later), releases everything.
   */
  close(options?: { grace?: number }): Promise<void>
}

export function createEngine(parts: EngineParts): Engine {
  const { store, catalog, clock, log, runner, slots, alarm, retention, others, tagLimits, memory } = parts
  const life = new AbortController()
  const identity = new Identity(parts.onOwner)
  const cache = new ContextCache(memory.cache)
  const loader = new ContextLoader({ store, catalog, cache, bytes: memory.steps })
  const turns = new ByteBudget({ bytes: memory.steps, what: 'contexts' })
  const admission = new Admission({ slots, runner, budget: new ByteBudget({ bytes: memory.steps, what: 'steps' }) })
  const admit: TurnEnv['admit'] = (flux, state) => admission.take(admission.kindOf(flux, state))
  const onReady = ({ id, state }: ContextRecord, flux: CompiledFlux) => claims.ready(id, admission.kindOf(flux, state))
  const env = (): TurnEnv => ({
    now: clock.now(),
    random: Math.random,
    uuid: randomUUID,
    owner: identity.owner,
    tagLimits,
    maxRecord: memory.record,
    admit,
  })
  const notifyOthers = (id: ContextId) => others?.feed.notify(id)
  const commits: Commits = new Commits({
    store,
    cache,
    alarm,
    log,
    owner: () => identity.owner,
    onStep: (step, slot, { flux, record }) => steps.start(step, flux, slot, record),
    onReady: ({ record, flux }) => onReady(record, flux),
    onEnd: (id) => steps.abort(id),
    onOthersStep: notifyOthers,
    onParent: (id) => timers.notifyParent(id),
    onAnswer: notifyOthers,
    onUnknownOutcome: (id) => void redelivery.reconcile(id),
  })
  const mailboxes = new Mailboxes({
    store,
    log,
    catalog,
    cache,
    loader,
    turns,
    commits,
    env,
    ids: new Ids(store),
    pins: new Pins(store, clock),
  })
  const redelivery: Redelivery = new Redelivery({
    mailboxes,
    alarm,
    clock,
    log,
    steps: () => steps,
    owner: () => identity.owner,
    isClaimed: (id) => claims.has(id),
    onReady,
    ended: life.signal,
    onEnd: notifyOthers,
  })
  const timers: Timers = new Timers({ store, mailboxes, redelivery, alarm, clock, log })
  const refusals = new RefusalLog({ log, clock })
  const hints = new EventHints({ catalog, store, clock })
  const facadeParts = {
    store,
    catalog,
    mailboxes,
    hints,
    log,
    refusals,
    tagLimits,
    startedAt: (step: Step) => steps.startedAt(step),
  }
  const steps: Steps = new Steps({
    dispatcher: parts.dispatcher,
    runner,
    slots,
    clock,
    log,
    loader,
    turns,
    answer: (id, input) => redelivery.deliver(id, input),
    // What a step asks for belongs to what was acknowledged already: it isn't refused.
    apiOf: (packageName) => facade(facadeParts, { caller: SYSTEM, home: packageName, admission: null }),
  })
  const cancels = new Cancels({ loader, steps, log })
  others?.feed.onNotified((id) => void cancels.check(id))
  const recovery = new Recovery({
    store,
    log,
    loader,
    cache,
    commits,
    mailboxes,
    redelivery,
    admission,
    steps,
    timers,
    env,
  })
  const claims: Claims = new Claims({
    store,
    clock,
    log,
    slots,
    admission,
    recovery,
    hints: new ReadyHints({ feed: others?.feed ?? null, clock }),
    owner: () => identity.owner,
  })
  const heartbeat = new Heartbeat({
    store,
    clock,
    log,
    mailboxes,
    redelivery,
    steps,
    cancels,
    claims,
    identity,
    every: others?.beat ?? null,
  })
  const purges = new Retention({ store, clock, log, retention })
  const facades = new WeakMap<Caller, FluxApi>()

  return {
    api(caller) {
      const known = facades.get(caller) ?? facade(facadeParts, { caller, home: null, admission: null })
      facades.set(caller, known)
      return known
    },
    local: () => facade(facadeParts, { caller: SYSTEM, home: null, admission: memory.requests }),
    webhooks: webhooks({ catalog, mailboxes, commits, store, clock, feed: others?.feed ?? null, refusals }),
    trouble: () => store.trouble(),
    async start() {
      await heartbeat.start()
      alarm.start(() => timers.dispatchDue())
      purges.start()
    },
    async close({ grace = 10_000 } = {}) {
      recovery.stop()
      claims.stop()
      await steps.stop(grace)
      life.abort()
      await Promise.all([heartbeat.stop(), purges.stop(), alarm.close(), others?.feed.close()])
      await mailboxes.idle()
      // Given back, they are nobody's loss: whoever takes them over doesn't count it.
      await Promise.allSettled(steps.abandon('the server stops').map((id) => mailboxes.post(id, { type: 'RELEASE' })))
      runner.close()
      await store.close()
    },
  }
}
