// engine/cluster: what a server does at intervals. It reports to the store that it is alive, under its boot id, and finds steps
// that no server runs; and it deletes contexts that finished longer ago than the retention time, and expired rows.
import type { Deps, EngineParts } from '../contexts/deps.ts'
import type { Steps } from '../steps/steps.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import type { Claims } from './claims.ts'
import type { Redelivery } from './redelivery.ts'
import type { Identity } from './servers.ts'

/** Number of heartbeats between two comparisons of the steps leased to this server with those that it runs. */
const COMPARE_EVERY = 3

export interface HeartbeatParts extends Deps {
  readonly mailboxes: Pick<Mailboxes, 'isBusy'>
  readonly redelivery: Pick<Redelivery, 'reconcile'>
  readonly steps: Pick<Steps, 'contexts' | 'isBusy' | 'abandon' | 'check'>
  readonly claims: Pick<Claims, 'look' | 'has'>
  readonly identity: Identity
  /** Milliseconds between heartbeats; null: no other server can use the store, and one heartbeat is enough. */
  readonly beat: number | null
}

export class Heartbeat {
  readonly #parts: HeartbeatParts
  #count = 0
  /** Incarnation of the store at the last comparison. */
  #incarnation: number
  #cancelTimer: (() => void) | null = null
  #beating: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
    this.#incarnation = parts.store.incarnation
  }

  /** Sends the first heartbeat and schedules the next. Rejects if the store does not accept it. */
  async start(): Promise<void> {
    await this.#beat()
    this.#schedule()
  }

  /** Resolves when the heartbeat in progress has ended. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    return this.#beating
  }

  #schedule(): void {
    const { clock, beat, log } = this.#parts
    if (beat === null || this.#stopped) return
    this.#cancelTimer = clock.after(beat, () => {
      this.#beating = this.#beat()
        .catch((error: unknown) => log.warn('the store did not take the heartbeat', { error }))
        .then(() => this.#schedule())
    })
  }

  async #beat(): Promise<void> {
    const { store, log, steps, identity, claims } = this.#parts
    const { owner } = identity
    if (!(await store.heartbeat({ owner }))) {
      log.warn('another server declared this server dead and took over its steps; it continues under a new boot id', {
        owner,
      })
      steps.abandon('another server took it over')
      identity.renew()
      await store.heartbeat({ owner: identity.owner })
    }
    await claims.look()
    await this.#resume()
  }

  /**
   * Reconciles contexts whose step is leased to this server but does not run: a store that lost its most recent writes
   * may have lost the end of a step, and a commit with an unknown outcome may have been done later. Also checks steps
   * that run but are not leased to this server: another server may have ended their contexts, and its message may have
   * been lost.
   */
  async #resume(): Promise<void> {
    const { store, mailboxes, redelivery, steps, claims, identity } = this.#parts
    this.#count += 1
    const { incarnation } = store
    const isNew = incarnation !== this.#incarnation
    if (!isNew && this.#count % COMPARE_EVERY !== 0) return
    const running = steps.contexts()
    const leased = await store.leasedTo({ owner: identity.owner })
    // In a new incarnation, the leased step may be an earlier one than the step that runs here.
    for (const id of leased)
      if (!mailboxes.isBusy(id) && !claims.has(id) && (isNew || !steps.isBusy(id))) void redelivery.reconcile(id)
    const isLeased = new Set(leased)
    for (const id of running) if (!isLeased.has(id)) void steps.check(id)
    this.#incarnation = incarnation
  }
}

/** Maximum number of contexts, or rows, deleted in one request. */
const MAX_PURGED_AT_ONCE = 500
/** Bounds of the interval between purges, which is a tenth of the retention time. */
const EVERY_MS = { min: 1_000, max: 60_000 }

export class Retention {
  readonly #parts: Deps & Pick<EngineParts, 'retention'>
  #stopped = false
  #purging: Promise<void> = Promise.resolve()
  #cancelTimer: (() => void) | null = null

  constructor(parts: Deps & Pick<EngineParts, 'retention'>) {
    this.#parts = parts
  }

  start(): void {
    this.#purging = this.#purge().then(() => this.#schedule())
  }

  /** Resolves when the purge in progress has ended. */
  stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    return this.#purging
  }

  #schedule(): void {
    const { clock, retention } = this.#parts
    if (this.#stopped) return
    this.#cancelTimer = clock.after(Math.min(Math.max(retention / 10, EVERY_MS.min), EVERY_MS.max), () => this.start())
  }

  async #purge(): Promise<void> {
    const { store, clock, log, retention } = this.#parts
    try {
      let purged = 1
      while (purged > 0 && !this.#stopped)
        purged = await store.purge({ endedBefore: clock.now() - retention, limit: MAX_PURGED_AT_ONCE })
      let swept = 1
      while (swept > 0 && !this.#stopped) swept = await store.sweepRows({ now: clock.now(), limit: MAX_PURGED_AT_ONCE })
    } catch (error) {
      log.error('finished contexts could not be purged; trying again later', { error })
    }
  }
}
