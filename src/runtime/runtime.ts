// runtime: its parts put together, and its two clocks' work: what is due, and what is to be purged.
import { randomUUID } from 'node:crypto'
import type { Catalog } from '../definitions/catalog.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import type { FluxApi } from '../model/calls.ts'
import { SYSTEM, type Caller } from '../model/caller.ts'
import { isFinished, type ContextId } from '../model/context.ts'
import { FluxError } from '../model/failure.ts'
import { NOBODY } from '../model/record.ts'
import type { Standstill } from '../model/standstill.ts'
import type { TagLimits } from '../model/tags.ts'
import type { WebhookApi } from '../model/webhook.ts'
import type { AlarmClock } from '../ports/alarm-clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { CommitFeed } from '../ports/commit-feed.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'
import type { Lease, Store } from '../ports/store.ts'
import { Contexts, type Outcome } from './contexts.ts'
import { stepOf, type Input } from './decide.ts'
import { facade } from './facade.ts'
import { Ids } from './ids.ts'
import { Recent } from './recent.ts'
import { Steps } from './steps.ts'
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
  /** Steps at once. */
  readonly stepConcurrency: number
  /** Null: no other server can be there. */
  readonly others: {
    /** Milliseconds between heartbeats. */
    readonly beat: number
    readonly feed: CommitFeed
  } | null
  readonly tagLimits: TagLimits
  /** Told the boot id of this server, and again when it has another. */
  readonly onOwner?: ((owner: string) => void) | undefined
}

export interface Runtime {
  /** Why it can't serve at present; null when it can. */
  trouble(): string | null
  /** The nine calls, as that caller may make them. */
  api(caller: Caller): FluxApi
  readonly webhooks: WebhookApi
  /** Claims what a dead server left, rings the alarm, begins to purge. */
  start(): Promise<void>
  /** Takes nothing new, lets steps under way finish for at most `grace` milliseconds, aborts the rest (they run again later), releases everything. */
  close(options?: { grace?: number }): Promise<void>
}

/** Due contexts claimed at once, and for how long (milliseconds) a claim keeps others away. */
const CLAIM = { limit: 256, hideFor: 10_000 }
const PURGE_LIMIT = 500
/** Milliseconds after which a definition is stored again: a store that lost its last moments may have lost it, too. */
const PIN_AGAIN = 60_000
/** Milliseconds between purges: a tenth of the retention, within these bounds. */
const PURGE_EVERY = { min: 1_000, max: 60_000 }
/** Heartbeats from one look to the next whether all steps that are leased to this server run. */
const LOOK_EVERY = 3
/** Milliseconds before a letter that couldn't be brought home is brought again: doubled each time, up to the second. */
const BRING_AGAIN = { first: 100, most: 5_000 }

export function createRuntime({ store, catalog, runner, alarm, clock, log, retention, stepConcurrency, others, tagLimits, onOwner }: RuntimeParts): Runtime {
  const beat = others?.beat ?? null
  const feed = others?.feed ?? null
  /** The boot id: a server's name until it stops or is taken for dead. Its steps are leased to it. */
  let owner = randomUUID()
  onOwner?.(owner)
  const life = new AbortController()
  let stopPurging: (() => void) | null = null
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

  const contexts = new Contexts({
    store, catalog, alarm, clock, log, pin,
    ids: new Ids(store),
    recent: new Recent(),
    surroundings: () => ({ now: clock.now(), random: Math.random, uuid: randomUUID, owner, trail: null, tagLimits }),
    onStep: (step, { flux, record }) => steps.start(step, flux, record),
    onEnd: (id) => steps.abort(id),
    onAnswer: (id) => feed?.tell(id),
    onDoubt: (id) => void settle(id),
  })
  const steps: Steps = new Steps({
    runner, clock, log, answer: bring, concurrency: stepConcurrency, apiOf: (packageName) => facade({ store, catalog, contexts, log, tagLimits }, SYSTEM, packageName),
  })

  /** Brings a letter home, however long the store is out of reach. Gives null when it can't be brought. */
  async function bring(id: ContextId, input: Input): Promise<Outcome | null> {
    for (let pause = BRING_AGAIN.first; !life.signal.aborted; pause = Math.min(pause * 2, BRING_AGAIN.most)) {
      try {
        return await contexts.deliver(id, input)
      } catch (error) {
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
    else if (step?.owner === owner) steps.start(step, flux, record)
    if (record.due !== null) alarm.set(record.due)
  }

  async function ring(): Promise<number | null> {
    for (;;) {
      const { ids, next } = await store.claimDue({ now: clock.now(), ...CLAIM })
      if (ids.length === 0) return next
      await Promise.all(ids.map(wake))
    }
  }

  /** A context that can't be taken over is claimed again and again: one try at a time is enough. */
  const takingOver = new Set<ContextId>()

  async function recover(): Promise<void> {
    for (;;) {
      const leases = await store.claimAbandoned({ owner, ...CLAIM })
      if (leases.length === 0) return
      const fresh = leases.filter(({ id }) => !takingOver.has(id))
      if (fresh.length > 0) log.info('steps that another server left are taken over', { contexts: fresh.length })
      const standstills = await standstillsOf(fresh)
      for (const lease of fresh) void takeOver(lease, standstills.get(lease.owner) ?? null)
    }
  }

  /** By owner: what each of them wrote down when its event loop stood still. */
  async function standstillsOf(leases: readonly Lease[]): Promise<ReadonlyMap<string, Standstill | null>> {
    const standstills = new Map<string, Standstill | null>()
    for (const { owner: last } of leases) {
      if (last !== NOBODY && !standstills.has(last)) standstills.set(last, await store.standstill({ owner: last }))
    }
    return standstills
  }

  async function takeOver({ id, owner: last }: Lease, standstill: Standstill | null): Promise<void> {
    takingOver.add(id)
    await bring(id, { type: 'TAKE_OVER', owner: last, standstill })
    takingOver.delete(id)
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
    await recover()
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
      log.error('a context could not be woken', { contextId: id, error })
    }
  }

  async function purge(): Promise<void> {
    try {
      let purged = 1
      while (purged > 0 && !life.signal.aborted) purged = await store.purge({ endedBefore: clock.now() - retention, limit: PURGE_LIMIT })
    } catch (error) {
      log.error('finished contexts could not be purged; trying again later', { error })
    }
    if (!life.signal.aborted) stopPurging = clock.after(Math.min(Math.max(retention / 10, PURGE_EVERY.min), PURGE_EVERY.max), () => void purge())
  }

  const facades = new WeakMap<Caller, FluxApi>()

  return {
    api(caller) {
      const known = facades.get(caller)
      if (known) return known
      const made = facade({ store, catalog, contexts, log, tagLimits }, caller, null)
      facades.set(caller, made)
      return made
    },
    webhooks: webhooks({ catalog, contexts, store, clock, feed }),
    trouble: () => store.trouble(),
    async start() {
      await live()
      if (beat !== null) stopBeating = clock.after(beat, () => void liveOn())
      alarm.start(ring)
      void purge()
    },
    async close({ grace = 10_000 } = {}) {
      stopPurging?.()
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
