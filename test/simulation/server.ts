// One server of the simulation: the real engine, on a clock, an alarm, a store and a runner that the scheduler drives.
import { settlementOf } from '../../src/http/webhooks/reply.ts'
import { localAlarm } from '../../src/alarms/local.ts'
import type { Catalog } from '../../src/definitions/catalog.ts'
import { ByteBudget } from '../../src/model/byte-budget.ts'
import type { FluxApi } from '../../src/api/calls.ts'
import { notedApi } from '../support/answers.ts'
import { SYSTEM } from '../../src/model/caller.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import type { CommitFeed } from '../../src/ports/feeds.ts'
import { Slots } from '../../src/model/slots.ts'
import { createEngine, type Engine } from '../../src/engine/engine.ts'
import { Bell } from './bell.ts'
import { FaultyStore, type Faults, type Witness } from './faults.ts'
import type { Memory } from '../../src/store/memory/memory.ts'
import { SimulatedRunner, type Calls } from './runner.ts'
import type { Actor, Scheduler } from './scheduler.ts'

/** Milliseconds between heartbeats, and without one after which a server is dead. */
export const BEAT_MS = 1_500
export const SILENCE_MS = BEAT_MS * 7
/** Isolated functions at once in each server. */
export const ISOLATED = 2
/** Milliseconds that a hint takes to other servers, at most. */
const HINT_MS = 10
const MIB = 1024 * 1024
/** Longer than any run: what is purged is another test's matter. */
const RETENTION_MS = 7 * 86_400_000

export interface World {
  /** The names of servers, by boot id: one that is taken for dead has another from then on. */
  readonly owners: Map<string, string>
  readonly scheduler: Scheduler
  readonly memory: Memory
  readonly witness: Witness
  /** How many ids a server reserves ahead the next time. */
  readonly ahead: () => number
  readonly catalog: Catalog
  readonly calls: Calls
  /** Those that live and serve. */
  readonly servers: SimulatedServer[]
  /** As they are at present. */
  faults: Faults
  /** Whether there is never more than one server at a time, as on the embedded store. */
  readonly isAlone: boolean
  readonly stepConcurrency: number
  /** Ready steps that a server remembers. */
  readonly maxWaiting: number
  /** Whether clients send notes more than anything else. */
  readonly isOfNotes: boolean
  /** Whether servers keep copies of contexts. */
  readonly keeps: boolean
  /** What must not happen, in words. */
  readonly violations: string[]
}

export class SimulatedServer implements Actor {
  readonly name: string
  isAlive = true
  isServing = false
  frozenUntil = 0
  readonly store: FaultyStore
  readonly bell: Bell
  readonly #world: World
  readonly #engine: Engine
  #onReady: () => void = nothing
  /** Calls that nobody will answer when it is gone. */
  readonly #onGone = new Set<() => void>()

  constructor(name: string, world: World) {
    this.name = name
    this.#world = world
    const { scheduler, memory, witness, ahead, catalog, calls, servers, isAlone, stepConcurrency, maxWaiting, keeps } =
      world
    if (isAlone) memory.reopen()
    this.store = new FaultyStore({ memory, witness, ahead, server: this, scheduler })
    const clock: Clock = {
      now: () => scheduler.now,
      after: (milliseconds, callback) => scheduler.after(milliseconds, this, callback),
    }
    const log = this.#log()
    const feed: CommitFeed = {
      notify: nothing,
      onNotified: nothing,
      watch: nothing,
      onWatched: nothing,
      notifyReady: () => this.#notifyReady(),
      onReady: (listener) => {
        this.#onReady = listener
      },
      close: async () => {},
    }
    const runner = new SimulatedRunner(this, scheduler, calls)
    this.bell = new Bell({ scheduler, clock, servers, unheard: () => world.faults.unheard })
    this.#engine = createEngine({
      store: this.store,
      catalog,
      clock,
      log,
      slots: new Slots({ code: stepConcurrency, isolated: ISOLATED, maxWaiting }),
      idempotency: { kept: 86_400_000, max: 1_000_000, keptOfWebhooks: 7 * 86_400_000 },
      webhookSender: { send: () => Promise.resolve({ ok: true }) },
      retention: RETENTION_MS,
      tagLimits: { count: 64, bytes: 256 },
      webhooks: { deliveries: 1000, settlementOf },
      bounds: { commits: 1_000_000, broadcasts: 1000, waits: 20_000, pending: 100_000, answeredBroadcast: 10_000 },
      runner,
      alarm: isAlone ? localAlarm({ clock, log }) : this.bell,
      others: isAlone ? null : { beat: BEAT_MS, feed },
      onOwner: (owner) => {
        world.owners.set(owner, name)
      },
      memory: {
        requests: new ByteBudget({ bytes: 64 * MIB, what: 'requests' }),
        steps: 64 * MIB,
        cache: keeps ? 64 * MIB : 0,
        record: MIB,
      },
    })
  }

  faults = (): Faults => this.#world.faults

  get isAlone(): boolean {
    return this.#world.isAlone
  }

  get api(): FluxApi {
    return notedApi(this.#engine.calls(SYSTEM))
  }

  /** Begins to serve; false: it couldn't, and is gone. */
  async start(): Promise<boolean> {
    const { scheduler, servers } = this.#world
    try {
      scheduler.tell(this, 'starts')
      await this.#engine.start()
      this.isServing = true
      servers.push(this)
      return true
    } catch (error) {
      scheduler.tell(this, `can't start: ${String(error)}`)
      this.crash()
      return false
    }
  }

  /** All that it was about to do is gone. */
  crash(): void {
    this.#world.scheduler.tell(this, 'crashes')
    this.#leave()
    this.isAlive = false
    for (const gone of this.#onGone) gone()
  }

  /** Hints come late, or never. */
  #notifyReady(): void {
    const { scheduler, servers, faults } = this.#world
    for (const server of servers)
      if (!scheduler.random.chance(faults.unheard))
        scheduler.after(scheduler.random.between(0, HINT_MS), server, () => server.#onReady())
  }

  /** As a server does that is told to. */
  async stop(): Promise<void> {
    this.#world.scheduler.tell(this, 'stops')
    this.#leave()
    await this.#engine.close({ grace: 0 })
    if (this.isAlive) this.crash()
  }

  /** Resolves as the call does, or with null when the server is gone before that. */
  whileAlive<T>(call: Promise<T>): Promise<T | null> {
    return new Promise((resolve, reject) => {
      const gone = () => resolve(null)
      this.#onGone.add(gone)
      call.then(resolve, reject).finally(() => this.#onGone.delete(gone))
    })
  }

  #leave(): void {
    const { servers } = this.#world
    this.isServing = false
    const place = servers.indexOf(this)
    if (place >= 0) servers.splice(place, 1)
  }

  /** Errors that aren't the store's are faults of the engine's. */
  #log(): Log {
    const { scheduler, violations } = this.#world
    const tell = (level: string) => (message: string, fields?: object) => {
      const error: unknown = fields && 'error' in fields ? fields.error : undefined
      scheduler.tell(this, `${level}: ${message}${error === undefined ? '' : `: ${String(error)}`}`)
      if (error instanceof Error && error.name !== 'FluxError')
        violations.push(`${this.name} logs '${message}': ${error.stack ?? error.message}`)
    }
    return { trace: nothing, debug: nothing, info: tell('info'), warn: tell('warn'), error: tell('error') }
  }
}

const nothing = () => {}
