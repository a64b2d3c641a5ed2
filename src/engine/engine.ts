// engine: its parts put together.
import { randomUUID } from 'node:crypto'
import type { Catalog } from '../definitions/catalog.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import { CountBound } from '../model/count-bound.ts'
import type { FluxApi } from '../api/flux-api.ts'
import { SYSTEM, type Caller } from '../model/caller.ts'
import type { ContextId } from '../model/context.ts'
import type { TagLimits } from '../model/tags.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { CommitFeed } from '../ports/commit-feed.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import type { Store } from '../ports/store.ts'
import { Cancels } from './steps/cancel.ts'
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
import { Recovery } from './steps/recovery.ts'
import { Redelivery } from './redelivery.ts'
import { RefusalLog } from './refusal-log.ts'
import { Retention } from './retention.ts'
import { Steps } from './steps/steps.ts'
import { Timers } from './timers.ts'
import type { TurnEnv } from './unit-of-work.ts'
import { ShownContexts } from './calls/shown-contexts.ts'
import { webhooks } from './calls/webhooks.ts'
import { Waits } from './waits/waits.ts'

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
  /** How many of each there may be at once; calls beyond are refused. */
  readonly bounds: { readonly commits: number; readonly broadcasts: number; readonly waits: number }
  /** Told the boot id of this server, and again when it has another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

export interface Engine {
  /** Why it can't serve at present; null when it can. */
  trouble(): string | null
  /** The calls, as that caller may make them over HTTP: how much it may send at once is that room's matter. */
  api(caller: Caller): FluxApi
  /** The calls for whoever has made this runtime. What they are given counts among what is in flight. */
  local(): FluxApi
  readonly webhooks: WebhookApi
  /** Ends all requests that are held until a context gets somewhere, and takes no more: the server stops. */
  endWaits(): void
  /** Claims what a dead server left, rings the alarm, begins to purge. */
  start(): Promise<void>
  /**
   * Takes nothing new, lets steps under way finish for at most `grace` milliseconds, aborts the rest (they run again
   * later), releases everything.
   */
  close(options?: { grace?: number }): Promise<void>
}

export function createEngine(parts: EngineParts): Engine {
  const { store, catalog, clock, log, runner, alarm, retention, others, tagLimits, memory } = parts
  const life = new AbortController()
  const identity = new Identity(parts.onOwner)
  const cache = new ContextCache(memory.cache)
  const loader = new ContextLoader({ store, catalog, cache, bytes: memory.steps })
  const turns = new ByteBudget({ bytes: memory.steps, what: 'contexts' })
  const env = (): TurnEnv => ({
    now: clock.now(),
    random: Math.random,
    uuid: randomUUID,
    owner: identity.owner,
    tagLimits,
    startsAtOnce: steps.hasRoom,
    maxRecord: memory.record,
  })
  const notifyOthers = (id: ContextId) => others?.feed.notify(id)
  const waits = new Waits({
    store,
    clock,
    log,
    feed: others?.feed ?? null,
    bound: new CountBound({ limit: parts.bounds.waits, what: 'requests that wait for a context' }),
  })
  const commits: Commits = new Commits({
    store,
    cache,
    alarm,
    log,
    owner: () => identity.owner,
    onStep: (step, { flux, record }, texts) => steps.start(step, flux, { record, texts }),
    onEnd: (id) => steps.abort(id),
    onOthersStep: notifyOthers,
    onParent: (id) => timers.notifyParent(id),
    onAnswer: notifyOthers,
    onCommitted: ({ record, history }) => waits.onCommit(record, history),
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
    maxCalls: parts.bounds.commits,
  })
  const redelivery: Redelivery = new Redelivery({
    mailboxes,
    alarm,
    clock,
    log,
    steps: () => steps,
    owner: () => identity.owner,
    ended: life.signal,
    onEnd: notifyOthers,
  })
  const timers: Timers = new Timers({ store, mailboxes, redelivery, alarm, clock, log })
  const refusals = new RefusalLog({ log, clock })
  const hints = new EventHints({ catalog, store, clock })
  const startedAt = (step: Step) => steps.startedAt(step)
  const facadeParts = {
    store,
    catalog,
    mailboxes,
    hints,
    log,
    refusals,
    tagLimits,
    startedAt,
    waits,
    shown: new ShownContexts({ store, catalog, log, waits, startedAt }),
    broadcasts: new CountBound({ limit: parts.bounds.broadcasts, what: 'broadcasts under way' }),
  }
  const steps: Steps = new Steps({
    runner,
    clock,
    log,
    loader,
    turns,
    budget: new ByteBudget({ bytes: memory.steps, what: 'steps' }),
    concurrency: parts.stepConcurrency,
    isolated: parts.isolated,
    answer: (id, input) => redelivery.deliver(id, input),
    // What a step asks for belongs to what was acknowledged already: it isn't refused.
    apiOf: (packageName) => facade(facadeParts, { caller: SYSTEM, home: packageName, admission: null, isStep: true }),
  })
  const cancels = new Cancels({ loader, steps, log })
  others?.feed.onNotified((id) => void cancels.check(id))
  const recovery = new Recovery({
    store,
    clock,
    log,
    loader,
    cache,
    commits,
    mailboxes,
    redelivery,
    steps,
    timers,
    env,
  })
  const heartbeat = new Heartbeat({
    store,
    clock,
    log,
    mailboxes,
    redelivery,
    steps,
    cancels,
    recovery,
    identity,
    every: others?.beat ?? null,
  })
  const purges = new Retention({ store, clock, log, retention })
  const facades = new WeakMap<Caller, FluxApi>()

  return {
    api(caller) {
      const known = facades.get(caller) ?? facade(facadeParts, { caller, home: null, admission: null, isStep: false })
      facades.set(caller, known)
      return known
    },
    local: () => facade(facadeParts, { caller: SYSTEM, home: null, admission: memory.requests, isStep: false }),
    webhooks: webhooks({ catalog, mailboxes, commits, store, clock, feed: others?.feed ?? null, refusals }),
    endWaits: () => waits.giveUp(),
    trouble: () => store.trouble(),
    async start() {
      await heartbeat.start()
      alarm.start(() => timers.dispatchDue())
      purges.start()
    },
    async close({ grace = 10_000 } = {}) {
      recovery.stop()
      waits.giveUp()
      await steps.stop(grace)
      waits.close()
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
