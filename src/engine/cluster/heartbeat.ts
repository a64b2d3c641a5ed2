// engine/cluster: what a server does at intervals. It reports to the store that it is alive, under its boot id, and finds steps
// that no server runs; and it deletes contexts that finished longer ago than the retention time, and expired rows.
import type { Deps, EngineParts } from '../contexts/deps.ts'
import type { Steps } from '../steps/steps.ts'
import type { Mailboxes } from '../turn/mailboxes.ts'
import { Periodic } from '../../ports/periodic.ts'
import type { Claims } from './claims.ts'
import type { Redelivery } from './redelivery.ts'
import type { Servers } from './servers.ts'

/** Number of heartbeats between two comparisons of the steps leased to this server with those that it runs. */
const COMPARE_EVERY = 3

export interface HeartbeatParts extends Deps {
  readonly mailboxes: Pick<Mailboxes, 'isBusy'>
  readonly redelivery: Pick<Redelivery, 'reconcile'>
  readonly steps: Pick<Steps, 'contexts' | 'abandon' | 'check'>
  readonly claims: Pick<Claims, 'look' | 'has'>
  readonly servers: Servers
}

export class Heartbeat {
  readonly #parts: HeartbeatParts
  #count = 0
  /** Incarnation of the store at the last comparison. */
  #incarnation: number
  readonly #beats: Periodic

  constructor(parts: HeartbeatParts) {
    const { clock, servers, log, store } = parts
    this.#parts = parts
    this.#incarnation = store.incarnation
    this.#beats = new Periodic(clock, async () => {
      await this.#beat().catch((error: unknown) => log.warn('the store did not take the heartbeat', { error }))
      return servers.beat
    })
  }

  /** Sends the first heartbeat and schedules the next. Rejects if the store does not accept it. */
  async start(): Promise<void> {
    await this.#beat()
    const { beat } = this.#parts.servers
    // No other server can use the store: one heartbeat is enough.
    if (beat !== null) this.#beats.within(beat)
  }

  /** Resolves when the heartbeat in progress has ended. */
  stop(): Promise<void> {
    return this.#beats.stop()
  }

  async #beat(): Promise<void> {
    const { store, log, steps, servers, claims } = this.#parts
    const owner = servers.own
    if (!(await store.heartbeat({ owner }))) {
      log.warn('another server declared this server dead and took over its steps; it continues under a new boot id', {
        owner,
      })
      steps.abandon('another server took it over')
      servers.renew()
      await store.heartbeat({ owner: servers.own })
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
    const { store, mailboxes, redelivery, steps, claims, servers } = this.#parts
    this.#count += 1
    const { incarnation } = store
    const isNew = incarnation !== this.#incarnation
    if (!isNew && this.#count % COMPARE_EVERY !== 0) return
    const running = new Set(steps.contexts())
    const leased = await store.leasedTo({ owner: servers.own })
    // In a new incarnation, the leased step may be an earlier one than the step that runs here.
    for (const id of leased)
      if (!mailboxes.isBusy(id) && !claims.has(id) && (isNew || !running.has(id))) void redelivery.reconcile(id)
    const isLeased = new Set(leased)
    for (const id of running) if (!isLeased.has(id)) void steps.check(id)
    this.#incarnation = incarnation
  }
}

/** Maximum number of contexts, or rows, deleted in one request. */
const MAX_PURGED_AT_ONCE = 500
/** Bounds of the interval between purges, which is a tenth of the retention time. */
const EVERY_MS = { min: 1_000, max: 60_000 }

/** The purges, which repeat from the first run on. */
export function purgesOf({ store, clock, log, retention }: Deps & Pick<EngineParts, 'retention'>): Periodic {
  const pauseMs = retention === Infinity ? null : Math.min(Math.max(retention / 10, EVERY_MS.min), EVERY_MS.max)
  return new Periodic(clock, async (signal) => {
    try {
      await untilNone(signal, () => store.purge({ endedBefore: clock.now() - retention, limit: MAX_PURGED_AT_ONCE }))
      await untilNone(signal, () => store.sweepRows({ now: clock.now(), limit: MAX_PURGED_AT_ONCE }))
    } catch (error) {
      log.error('finished contexts could not be purged; trying again later', { error })
    }
    return pauseMs
  })
}

async function untilNone(signal: AbortSignal, deleteSome: () => Promise<number>): Promise<void> {
  for (let count = 1; count > 0 && !signal.aborted;) count = await deleteSome()
}
