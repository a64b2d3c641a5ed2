// One run: servers on one store, clients, and what goes wrong, all from one seed; then a calm in which everything must
// settle.
import { resolve } from 'node:path'
import { openCatalog, type Catalog } from '../../src/definitions/catalog.ts'
import { isFinished } from '../../src/model/context.ts'
import { faultsOf } from './checks.ts'
import { checkContextKeys, keyedFaultsOf } from './keyed-checks.ts'
import { KeyedCalls } from './keyed-workload.ts'
import { NO_FAULTS, someFaults } from './faults.ts'
import { Ledger } from './ledger.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { SimulatedRunner, type Calls } from './runner.ts'
import { Random, Scheduler, withSeededProcess } from './scheduler.ts'
import { ISOLATED, SILENCE_MS, SimulatedServer, type World } from './server.ts'
import { Client } from './workload.ts'

const NOW = Date.UTC(2026, 0, 1)
/** Milliseconds of calm after which everything must have settled. */
const PATIENCE_MS = 240_000
/** Milliseconds of calm at least: what arrives late has arrived, and the dead are known to be. */
const CALM_MS = 15_000
/** Milliseconds after which what arrives late has arrived, and the claims of the dead are over. */
const LATE_MS = SILENCE_MS + 1_000
/** Milliseconds between two looks whether everything has. */
const LOOK_MS = 2_000
/** Milliseconds for which a server is down, stands still or is cut off, at most. */
const MISFORTUNE_MS = 2 * SILENCE_MS

export interface Run {
  readonly seed: number
  readonly trace: readonly string[]
  /** What didn't hold, in words. */
  readonly violations: readonly string[]
  readonly commits: number
}

/** The services of the simulation, for all runs. */
export async function openServices(): Promise<Catalog> {
  const scheduler = new Scheduler(new Random(0), NOW)
  const runner = new SimulatedRunner({ name: '-', isAlive: true, frozenUntil: 0 }, scheduler, {
    all: [],
    begins: () => {},
    failing: 0,
    long: 0,
    hanging: 0,
    slots: { code: 0, isolated: 0 },
    wrong: () => {},
  })
  const { catalog, report } = await openCatalog({ folders: [resolve(import.meta.dirname, 'services')], runner })
  if (report.length > 0) throw new Error(`the services have faults: ${JSON.stringify(report)}`)
  return catalog
}

/** What clients do: calls of all kinds; or calls under idempotency keys, and starts by keys of contexts. */
export type Workload = 'calls' | 'keys'

export function simulate(seed: number, catalog: Catalog, workload: Workload = 'calls'): Promise<Run> {
  const random = new Random(seed)
  const scheduler = new Scheduler(random, NOW)
  return withSeededProcess(scheduler, () => new Simulation(seed, catalog, { scheduler, workload }).run())
}

class Simulation {
  readonly #seed: number
  readonly #scheduler: Scheduler
  readonly #world: World
  readonly #ledger: Ledger
  readonly #clients: readonly { work(calls: number): Promise<void> }[]
  /** Whether clients wait in the end for what is still under way. */
  readonly #asksAgain: boolean
  /** Of each client, at most. */
  readonly #maxCalls: number
  /** What they did, if that is known of each; and what is wrong with it. */
  readonly #faults: () => Promise<string[]>
  /** How many there are, of those that live. */
  readonly #most: number
  #named = 0
  #isCalm = false
  /** That live, whether they serve or not. */
  readonly #living = new Set<SimulatedServer>()

  constructor(
    seed: number,
    catalog: Catalog,
    { scheduler, workload }: { readonly scheduler: Scheduler; readonly workload: Workload },
  ) {
    const { random } = scheduler
    this.#seed = seed
    this.#scheduler = scheduler
    const violations: string[] = []
    const owners = new Map<string, string>()
    const ledger = (this.#ledger = new Ledger({ catalog, scheduler, violations }))
    const isAlone = random.chance(0.15)
    this.#most = isAlone ? 1 : random.between(1, 3)
    const memory = new Memory({
      now: () => scheduler.now,
      partitions: isAlone ? 1 : workload === 'keys' ? (random.pick([1, 3, 3]) ?? 3) : random.between(1, 3),
      silence: isAlone ? null : SILENCE_MS,
    })
    const stepConcurrency = random.pick([1, 2, 256]) ?? 1
    const calls = {
      all: [],
      begins: (call) => ledger.called(call),
      failing: random.pick([0, 0.1, 0.5]) ?? 0,
      long: random.pick([0.1, 0.6]) ?? 0,
      hanging: random.pick([0, 0, 0.1]) ?? 0,
      slots: { code: stepConcurrency, isolated: ISOLATED },
      wrong: (what) => {
        violations.push(what)
      },
    } satisfies Calls
    ledger.calls = calls.all
    ledger.servers = owners
    if (!isAlone) ledger.mayBeDead = (owner) => memory.dead.has(owner)
    const faults = random.chance(0.15) ? NO_FAULTS : someFaults(random)
    this.#world = {
      owners,
      scheduler,
      memory,
      witness: ledger,
      ahead: () => (isAlone || random.chance(0.4) ? 0 : random.between(1, 5)),
      catalog,
      calls,
      servers: [],
      violations,
      isAlone,
      stepConcurrency,
      maxWaiting: random.pick([0, 1, 1000]) ?? 1,
      isOfNotes: random.chance(0.3),
      keeps: random.chance(0.8),
      // What is given up on a disk of one's own doesn't arrive later.
      faults: isAlone ? { ...faults, late: 0, unanswered: 0 } : faults,
    }
    const count = random.between(1, 3)
    this.#asksAgain = workload === 'keys'
    this.#maxCalls = workload === 'keys' ? 6 : 12
    if (workload === 'keys') {
      const keyed = new KeyedCalls(this.#world, ledger)
      ledger.onCommit = () =>
        checkContextKeys(ledger, (what) => {
          violations.push(what)
        })
      this.#clients = Array.from({ length: count }, () => keyed)
      this.#faults = () => this.#probe(keyed)
    } else {
      const clients = Array.from({ length: count }, (_, number) => new Client(number + 1, this.#world, ledger))
      this.#clients = clients
      this.#faults = () => {
        const sent = clients.flatMap((client) => client.sent)
        return faultsOf({ memory, ledger, sent, calls: calls.all, now: scheduler.now })
      }
    }
  }

  async run(): Promise<Run> {
    const { random } = this.#scheduler
    const { violations, memory } = this.#world
    this.#scheduler.tell(null, `seed ${this.#seed}: ${JSON.stringify(this.#world.faults)}`)
    for (let count = 0; count < this.#most; count += 1) void this.#raise()
    let working = this.#clients.length
    for (const client of this.#clients)
      void client.work(random.between(3, this.#maxCalls)).finally(() => {
        working -= 1
      })
    this.#befall()
    await this.#scheduler.run(() => working === 0 || violations.length > 0)
    if (violations.length === 0) await this.#calm()
    if (violations.length === 0) violations.push(...(await this.#faults()))
    const commits = [...memory.contexts.values()].reduce((sum, { context }) => sum + context.version, 0)
    return { seed: this.#seed, trace: this.#scheduler.trace, violations, commits }
  }

  /** Starts a server, and tries again until one comes up. */
  async #raise(): Promise<void> {
    const server = new SimulatedServer(`S${(this.#named += 1)}`, this.#world)
    this.#living.add(server)
    if (await server.start()) return
    this.#living.delete(server)
    this.#scheduler.after(1000, null, () => void this.#raise())
  }

  /** Things go wrong with whole servers, now and then. */
  #befall(): void {
    const { misfortuneMs } = this.#world.faults
    if (misfortuneMs === 0) return
    const { random } = this.#scheduler
    this.#scheduler.after(random.between(1, 2 * misfortuneMs), null, () => {
      if (this.#isCalm) return
      const server = random.pick([...this.#living])
      if (server) this.#strike(server)
      this.#befall()
    })
  }

  #strike(server: SimulatedServer): void {
    const { random, now } = this.#scheduler
    const time = random.between(1, MISFORTUNE_MS)
    const what = random.between(0, 4)
    if (what === 0) this.#scheduler.tell(server, `stands still for ${time} ms`)
    if (what === 0) server.frozenUntil = now + time
    else if (what === 1) this.#cutOff([server], time)
    else if (what === 2) this.#cutOff([...this.#living], Math.ceil(time / 4))
    else void this.#replace(server, what === 3, time)
  }

  /** Where several may be there, another one may be there while it stops. */
  async #replace(server: SimulatedServer, isCrash: boolean, time: number): Promise<void> {
    this.#living.delete(server)
    if (isCrash) server.crash()
    else if (this.#world.isAlone) await server.stop()
    else void server.stop()
    this.#scheduler.after(time, null, () => void this.#raise())
  }

  #cutOff(servers: readonly SimulatedServer[], time: number): void {
    for (const { store } of servers) store.awayUntil = Math.max(store.awayUntil, this.#scheduler.now + time)
    for (const server of servers) this.#scheduler.tell(server, `is cut off from the store for ${time} ms`)
  }

  /** Nothing goes wrong any more, and everything settles. */
  async #calm(): Promise<void> {
    this.#isCalm = true
    const { calls } = this.#world
    this.#scheduler.tell(null, 'from here on nothing goes wrong')
    this.#world.faults = NO_FAULTS
    calls.failing = 0
    calls.hanging = 0
    for (const server of this.#living) {
      server.frozenUntil = 0
      server.store.awayUntil = 0
    }
    const began = (this.#ledger.calmSince = this.#scheduler.now + MISFORTUNE_MS)
    const restsAt = this.#asksAgain ? this.#scheduler.now + LATE_MS : began + CALM_MS
    let isSettled = false
    const look = () => {
      const { now } = this.#scheduler
      isSettled = (now >= restsAt && this.#isSettled()) || now > began + PATIENCE_MS
      if (!isSettled) this.#scheduler.after(LOOK_MS, null, look)
    }
    look()
    await this.#scheduler.run(() => isSettled || this.#world.violations.length > 0)
  }

  async #probe(keyed: KeyedCalls): Promise<string[]> {
    const { violations, memory } = this.#world
    const before = keyed.attempts.length
    await this.#during(keyed.probe())
    return violations.length > 0 ? [] : ((await this.#during(keyedFaultsOf(keyed, memory, before))) ?? [])
  }

  /** Lets everything happen until that is done. */
  async #during<T>(work: Promise<T>): Promise<T | null> {
    let result: T | null = null
    let isOver = false
    const wait = async () => {
      try {
        result = await work
      } catch (error) {
        this.#world.violations.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
      }
      isOver = true
    }
    void wait()
    await this.#scheduler.run(() => isOver)
    return result
  }

  /** Whether everything that isn't finished waits for an event. */
  #isSettled(): boolean {
    for (const { status, due } of this.#ledger.records.values())
      if (!isFinished(status) && (status !== 'WAITING' || due !== null)) return false
    for (const { isNotified } of this.#world.memory.contexts.values()) if (isNotified) return false
    return true
  }
}
