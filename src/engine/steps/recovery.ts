// engine: takes over the steps of servers that are gone, few at a time, while this server serves.
import { isFinished, type ContextId } from '../../model/context.ts'
import { UNOWNED, type ContextRecord } from '../../model/record.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { AbandonedLease, Store } from '../../ports/store.ts'
import { logFailures } from './attempts.ts'
import { decodeHead } from '../record/decode.ts'
import { headWrite } from '../record/encode.ts'
import type { Commits } from '../commit.ts'
import { decide } from '../interpreter/decide.ts'
import { blockOf } from './leases.ts'
import type { ContextLoader } from '../context-loader.ts'
import type { Mailboxes } from '../mailboxes.ts'
import { stepOf } from '../record/position.ts'
import type { ContextCache } from '../context-cache.ts'
import type { Redelivery } from '../redelivery.ts'
import type { Steps } from './steps.ts'
import type { Timers } from '../timers.ts'
import type { TurnEnv } from '../unit-of-work.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** Contexts claimed at once, and for how long (milliseconds) a claim keeps others away. */
const CLAIM = { limit: 64, hideFor: 10_000 }
/**
 * Contexts taken over at a time, each until its step has begun: more would count as lost again, should one of them take
 * the server down.
 */
const AT_ONCE = 8
/** Milliseconds until a context that couldn't be taken over is tried again. */
const TRY_AGAIN_MS = 5_000

export interface RecoveryParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly loader: ContextLoader
  readonly cache: ContextCache
  readonly commits: Commits
  readonly mailboxes: Mailboxes
  readonly redelivery: Redelivery
  readonly steps: Steps
  readonly timers: Timers
  readonly env: () => TurnEnv
}

export class Recovery {
  readonly #parts: RecoveryParts
  /** Claimed, and not taken over yet. */
  readonly #queue: AbandonedLease[] = []
  /** One that can't be taken over is claimed again and again: one try at a time is enough. */
  readonly #known = new Set<ContextId>()
  #busy = 0
  #stopped = false

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Claims what is there to be taken over, unless there is enough to do already. */
  async look(): Promise<void> {
    const { store, env, log } = this.#parts
    while (!this.#stopped && this.#queue.length < CLAIM.limit) {
      const leases = await store.claimAbandoned({ owner: env().owner, ...CLAIM })
      if (leases.length === 0) return
      const fresh = leases.filter(({ id }) => !this.#known.has(id))
      if (fresh.length === 0) return
      log.info('steps that another server left are taken over', { contexts: fresh.length })
      for (const lease of fresh) {
        this.#known.add(lease.id)
        this.#queue.push(lease)
      }
      this.#next()
    }
  }

  /** What isn't taken over yet is left to others. */
  stop(): void {
    this.#stopped = true
    this.#queue.length = 0
  }

  #next(): void {
    while (this.#busy < AT_ONCE) {
      const lease = this.#queue.shift()
      if (!lease) return
      this.#busy += 1
      void this.#work(lease)
    }
  }

  async #work(lease: AbandonedLease): Promise<void> {
    const { log, clock } = this.#parts
    try {
      await this.#takeOver(lease)
      this.#known.delete(lease.id)
    } catch (error) {
      if (isUnreadable(error, log)) this.#known.delete(lease.id)
      else {
        log.error('a context could not be taken over; it will be tried again', { contextId: lease.id, error })
        clock.after(TRY_AGAIN_MS, () => {
          if (!this.#stopped) this.#queue.push(lease)
          this.#next()
        })
      }
    }
    this.#busy -= 1
    this.#next()
    if (this.#queue.length === 0 && !this.#stopped)
      await this.look().catch((error: unknown) => log.warn('steps of other servers could not be claimed', { error }))
  }

  /**
   * Makes a step whose server is gone this server's. That is counted and durable before any of the context's data is
   * parsed, since that may be what the other died of.
   * @throws FluxError `unavailable`
   */
  async #takeOver({ id, owner }: AbandonedLease): Promise<void> {
    const { store, loader, cache, commits, env, mailboxes } = this.#parts
    // What that server wrote down if it ended because its event loop stood still.
    const standstill = owner === UNOWNED ? null : await store.standstill({ owner })
    for (let lost = 0; !this.#stopped; lost += 1) {
      const stored = await loader.read(id)
      if (!stored) return
      const before = decodeHead(stored)
      const flux = await loader.flux(stored, before)
      const blocked = standstill && before.lease?.owner === owner ? blockOf(before, standstill) : null
      if (blocked) {
        await mailboxes.post(id, blocked)
        return
      }
      const decision = decide(
        flux,
        before,
        { type: 'TAKE_OVER', owner, isUncounted: standstill?.isCertain ?? false },
        { ...env(), history: null },
      )
      if (decision.kind !== 'next') return
      const ends = isFinished(decision.record.status)
      const notifies = ends && before.parent ? [before.parent.id] : []
      const outcome = await commits.write([headWrite(stored, decision.record, flux, notifies)], lost)
      cache.delete(id)
      if (!outcome.ok) continue
      if (ends) this.#end(before, decision.record, flux)
      else await this.#carryOn(decision.record, flux)
      return
    }
  }

  /** Resolves when its step has begun, or never will. `record` is without data. */
  async #carryOn(record: ContextRecord, flux: CompiledFlux): Promise<void> {
    const { redelivery, steps } = this.#parts
    redelivery.carryOn(record, flux)
    const step = stepOf(record)
    if (step) await steps.begun(step)
  }

  #end(before: ContextRecord, record: ContextRecord, flux: CompiledFlux): void {
    const { log, steps, timers } = this.#parts
    logFailures(log, { before, record, flux, failures: [] })
    steps.abort(record.id)
    if (record.parent) timers.notifyParent(record.parent.id)
  }
}
