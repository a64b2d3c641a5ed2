// runtime: its parts put together, and its two clocks' work: what is due, and what is to be purged.
import { randomUUID } from 'node:crypto'
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { ByteBudget } from '../model/byte-budget.ts'
import type { FluxApi } from '../api/flux-api.ts'
import { SYSTEM, type Caller } from '../model/caller.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import type { ContextRecord } from '../model/record.ts'
import type { TagLimits } from '../model/tags.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { CommitFeed } from '../ports/commit-feed.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import type { Store } from '../ports/store.ts'
import { Contexts, type ContextsParts, type Outcome } from './contexts.ts'
import type { Input } from './decision.ts'
import { EventHints } from './event-hint.ts'
import { facade } from './facade.ts'
import { Ids } from './ids.ts'
import { lossOf } from './leases.ts'
import { Loads, type MemoryLimits } from './loads.ts'
import { stepOf, type Step } from './position.ts'
import { purge } from './purge.ts'
import { Recent } from './recent.ts'
import { Recovery } from './recovery.ts'
import { Refusals } from './refusals.ts'
import { Steps } from './steps.ts'
import { isUnreadable } from './unreadable.ts'
import { webhooks } from './webhooks.ts'

export interface RuntimeParts {
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
  /** Told the boot id of this server, and again when it has another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

export interface Runtime {
  /** Why it can't serve at present; null when it can. */
  trouble(): string | null
  /** The nine calls, as that caller may make them over HTTP: how much it may send at once is that room's matter. */
  api(caller: Caller): FluxApi
  /** The nine calls for whoever has made this runtime. What they are given counts among what is in flight. */
  local(): FluxApi
  readonly webhooks: WebhookApi
  /** Claims what a dead server left, rings the alarm, begins to purge. */
  start(): Promise<void>
  /** Takes nothing new, lets steps under way finish for at most `grace` milliseconds, aborts the rest (they run again later), releases everything. */
  close(options?: { grace?: number }): Promise<void>
}

/** Due contexts claimed at once, and for how long (milliseconds) a claim keeps others away. */
const CLAIM = { limit: 256, hideFor: 10_000 }
/** Milliseconds after which a definition is stored again: a store that lost its last moments may have lost it, too. */
const PIN_AGAIN = 60_000
/** Heartbeats from one look to the next whether all steps that are leased to this server run. */
const LOOK_EVERY = 3
/** Milliseconds before a letter that couldn't be brought home is brought again: doubled each time, up to the second. */
const BRING_AGAIN = { first: 100, most: 5_000 }

export function createRuntime({ store, catalog, runner, alarm, clock, log, retention, stepConcurrency, isolated, others, tagLimits, memory, onOwner }: RuntimeParts): Runtime {
  const beat = others?.beat ?? null
  const feed = others?.feed ?? null
  /** The boot id: a server's name until it stops or is taken for dead. Its steps are leased to it. */
  let owner = randomUUID()
  onOwner?.(owner)
  const life = new AbortController()
  let stopBeating: (() => void) | null = null

  const pinned = new Map<string, { readonly stored: Promise<void>; readonly at: number; readonly era: number }>()
  const pin = ({ hash, text }: CompiledFlux): Promise<void> => {
    const known = pinned.get(hash)
    const { era } = store
    if (known?.era === era && clock.now() - known.at < PIN_AGAIN) return known.stored
    const stored = store.putDefinition({ hash, text })
    pinned.set(hash, { stored, at: clock.now(), era })
    stored.catch(() => { if (pinned.get(hash)?.stored === stored) pinned.delete(hash) })
    return stored
  }

  const recent = new Recent(memory.recent)
  const loads = new Loads({ store, catalog, recent, bytes: memory.steps })
  const turns = new ByteBudget({ bytes: memory.steps, what: 'contexts' })
  const contextsParts: ContextsParts = {
    store, catalog, alarm, clock, log, pin, recent, loads, turns,
    ids: new Ids(store),
    maxRecord: memory.record,
    surroundings: (budget) => ({ now: clock.now(), random: Math.random, uuid: randomUUID, owner, trail: null, tagLimits, startsAtOnce: steps.hasRoom, budget }),
    onStep: (step, { flux, record }, texts) => steps.start(step, flux, { record, texts }),
    onEnd: (id) => steps.abort(id),
    onAnswer: (id) => feed?.tell(id),
    onDoubt: (id) => void settle(id),
  }
  const contexts = new Contexts(contextsParts)
  const hints = new EventHints({ catalog, store, clock })
  const refusals = new Refusals({ log, clock })
  const facadeParts = { store, catalog, contexts, hints, log, refusals, tagLimits, startedAt: (step: Step) => steps.startedAt(step) }
  const steps: Steps = new Steps({
    runner, clock, log, loads, turns, budget: new ByteBudget({ bytes: memory.steps, what: 'steps' }), answer: bring, concurrency: stepConcurrency, isolated,
    // What a step asks for belongs to what was acknowledged already: it isn't refused.
    apiOf: (packageName) => facade(facadeParts, { caller: SYSTEM, home: packageName, admission: null }),
  })
  const recovery = new Recovery({
    ...contextsParts, contexts,
    async carryOn(record, flux) {
      carryOn(record, flux)
      const step = stepOf(record)
      if (step) await steps.begun(step)
    },
  })

  /** Sees to a step that is leased to this server. `record` may be without data. */
  function carryOn(record: ContextRecord, flux: CompiledFlux): void {
    const loss = lossOf(record)
    const step = stepOf(record)
    if (loss) void bring(record.id, loss)
    else if (step) steps.start(step, flux, null)
  }

  /** Brings a letter home, however long the store is out of reach. Gives null when it can't be brought. */
  async function bring(id: ContextId, input: Input): Promise<Outcome | null> {
    for (let pause = BRING_AGAIN.first; !life.signal.aborted; pause = Math.min(pause * 2, BRING_AGAIN.most)) {
      try {
        return await contexts.deliver(id, input)
      } catch (error) {
        if (isUnreadable(error, log)) return null
        const refused = error instanceof FluxError && error.failure.kind !== 'unavailable'
        if (refused && error.failure.kind === 'notFound') return null
        log.error('a context could not be carried on', { contextId: id, input: input.type, error })
        if (refused) return null
        await new Promise<void>((resolve) => { clock.after(pause, resolve) })
      }
    }
    return null
  }

  const doubtful = new Set<ContextId>()

  /** Finds out what became of a commit in doubt, and sees to what follows from it. */
  async function settle(id: ContextId): Promise<void> {
    if (doubtful.has(id)) return
    doubtful.add(id)
    const outcome = await bring(id, { type: 'WAKE' })
    doubtful.delete(id)
    if (!outcome) return
    const { record, flux } = outcome
    const step = stepOf(record)
    if (isFinished(record.status)) steps.abort(id)
    else if (step?.owner === owner) carryOn(record, flux)
    if (record.due !== null) alarm.set(record.due)
  }

  async function ring(): Promise<number | null> {
    for (;;) {
      const { ids, next } = await store.claimDue({ now: clock.now(), ...CLAIM })
      if (ids.length === 0) return next
      await Promise.all(ids.map(wake))
    }
  }

  let beats = 0
  let lookedIn = store.era

  /**
   * Sees to steps that are leased to this server and don't run. A store that lost its last moments may have lost the end of one; and a commit in doubt may have
   * come true when nobody looked any more.
   */
  async function resume(): Promise<void> {
    beats += 1
    const { era } = store
    const anew = era !== lookedIn
    if (!anew && beats % LOOK_EVERY !== 0) return
    const leased = await store.leasedTo({ owner })
    // In a new era it may be an earlier step than the one that runs here.
    for (const id of leased) if (!contexts.isBusy(id) && (anew || !steps.isBusy(id))) void settle(id)
    lookedIn = era
  }

  /** Says that this server lives, and looks whether others don't any more. */
  async function live(): Promise<void> {
    if (!await store.heartbeat({ owner })) {
      log.warn('others took this server for dead and its steps over: it goes on under another name', { owner })
      steps.abandon('another server took it over')
      owner = randomUUID()
      onOwner?.(owner)
      await store.heartbeat({ owner })
    }
    await recovery.look()
    await resume()
  }

  async function liveOn(): Promise<void> {
    await live().catch((error: unknown) => log.warn('the store did not take the heartbeat', { error }))
    if (beat !== null && !life.signal.aborted) stopBeating = clock.after(beat, () => void liveOn())
  }

  /** One context that can't go on must not keep the others waiting; the store tells of it again when its claim is over. */
  async function wake(id: ContextId): Promise<void> {
    try {
      await contexts.deliver(id, { type: 'WAKE' })
    } catch (error) {
      if (!isUnreadable(error, log)) log.error('a context could not be woken', { contextId: id, error })
    }
  }

  const facades = new WeakMap<Caller, FluxApi>()

  return {
    api(caller) {
      const known = facades.get(caller)
      if (known) return known
      const made = facade(facadeParts, { caller, home: null, admission: null })
      facades.set(caller, made)
      return made
    },
    local: () => facade(facadeParts, { caller: SYSTEM, home: null, admission: memory.requests }),
    webhooks: webhooks({ catalog, contexts, store, clock, feed, refusals }),
    trouble: () => store.trouble(),
    async start() {
      await live()
      if (beat !== null) stopBeating = clock.after(beat, () => void liveOn())
      alarm.start(ring)
      void purge({ store, clock, log, retention, ended: life.signal })
    },
    async close({ grace = 10_000 } = {}) {
      recovery.stop()
      await steps.stop(grace)
      life.abort()
      stopBeating?.()
      await alarm.close()
      await feed?.close()
      await contexts.idle()
      // Given back, they are nobody's loss: whoever takes them over doesn't count it.
      await Promise.allSettled(steps.abandon('the server stops').map((id) => contexts.deliver(id, { type: 'RELEASE' })))
      runner.close()
      await store.close()
    },
  }
}
