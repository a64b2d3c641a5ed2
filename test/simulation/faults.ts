// What goes wrong between a server and the store: slow answers, refused and lost requests, lost answers, requests that
// arrive late, conflicts.
import { inDoubt, unavailable } from '../../src/model/failure.ts'
import type { ContextId } from '../../src/model/context.ts'
import type { CommitRequest, Store, StoredContext, Write } from '../../src/ports/store.ts'
import type { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { AheadIds } from '../../src/store/redis/ahead-ids.ts'
import type { Random, Scheduler } from './scheduler.ts'
import type { SimulatedServer } from './server.ts'

/** How often what happens in this run; each a probability of a call, but for those in milliseconds. */
export interface Faults {
  /** The request never arrives. */
  readonly lost: number
  /** It arrives, and the answer is lost. */
  readonly unanswered: number
  /** It is given up, and arrives later all the same. */
  readonly late: number
  /** A commit is refused although nobody was faster. */
  readonly conflict: number
  /** An answer takes much longer than others. */
  readonly slow: number
  /** A hint to look for due contexts comes to nothing. */
  readonly unheard: number
  /** Between two misfortunes of whole servers; 0: there are none. */
  readonly misfortuneMs: number
}

export const NO_FAULTS: Faults = { lost: 0, unanswered: 0, late: 0, conflict: 0, slow: 0, unheard: 0, misfortuneMs: 0 }

const RATES = [0, 0, 0.01, 0.05, 0.2]

export function someFaults(random: Random): Faults {
  const rate = () => random.pick(RATES) ?? 0
  const unheard = random.pick([0, 0.1, 0.5, 1]) ?? 0
  return {
    lost: rate(),
    unanswered: rate(),
    late: rate(),
    conflict: rate(),
    slow: rate(),
    unheard,
    misfortuneMs: random.pick([0, 3_000, 10_000]) ?? 0,
  }
}

/** Milliseconds on the way to the store, and back. */
const WAY_MS = { usual: 3, slow: 4_000 }
/** Milliseconds after which a request is given up, and within which it may arrive after that. */
const PATIENCE_MS = 500
const LATE_MS = 3_000

type Verb =
  | 'reserveIds'
  | 'highestId'
  | 'load'
  | 'version'
  | 'commit'
  | 'log'
  | 'select'
  | 'count'
  | 'selectIds'
  | 'claimDue'
  | 'claimAbandoned'
  | 'leasedTo'
  | 'heartbeat'
  | 'purge'
  | 'readRow'
  | 'listRows'
  | 'countRows'
  | 'sweepRows'

/** Is told of what becomes true, before anyone else. */
export interface Witness {
  /** `befores`: what was there, in the order of the writes. */
  committed(writes: readonly Write[], befores: readonly (StoredContext | null)[]): void
  purged(id: ContextId): void
}

interface FaultyStoreParts {
  readonly memory: Memory
  readonly witness: Witness
  /** How many ids are reserved ahead this time. */
  readonly ahead: () => number
  readonly server: SimulatedServer
  readonly scheduler: Scheduler
}

/** The store as one server reaches it. */
export class FaultyStore implements Store {
  readonly notes = { module: '', place: null }
  readonly partitions: number
  incarnation = 0
  /** Until when it is out of reach for this server. */
  awayUntil = 0
  #wasAway = false
  readonly #memory: Memory
  readonly #store: MemoryStore
  readonly #witness: Witness
  readonly #aheadCount: () => number
  readonly #ahead = new Map<number, AheadIds>()
  readonly #server: SimulatedServer
  readonly #scheduler: Scheduler

  constructor({ memory, witness, ahead, server, scheduler }: FaultyStoreParts) {
    this.#memory = memory
    this.#store = new MemoryStore(memory)
    this.#witness = witness
    this.#aheadCount = ahead
    this.#server = server
    this.#scheduler = scheduler
    this.partitions = memory.partitions
  }

  get #isAway(): boolean {
    const isAway = this.awayUntil > this.#scheduler.now
    // What comes back may be another than the one that went.
    if (this.#wasAway && !isAway && this.#scheduler.random.chance(0.5)) this.incarnation += 1
    this.#wasAway = isAway
    return isAway
  }

  trouble = () => (this.awayUntil > this.#scheduler.now ? 'the store is out of reach' : this.#store.trouble())
  reserveIds: Store['reserveIds'] = (request) => this.#ask('reserveIds', () => this.#reserve(request))
  highestId: Store['highestId'] = () => this.#ask('highestId', () => this.#store.highestId())
  load: Store['load'] = (request) => this.#ask('load', () => this.#store.load(request))
  version: Store['version'] = (request) => this.#ask('version', () => this.#store.version(request))
  log: Store['log'] = (request) => this.#ask('log', () => this.#store.log(request))
  select: Store['select'] = (request) => this.#ask('select', () => this.#store.select(request))
  count: Store['count'] = (request) => this.#ask('count', () => this.#store.count(request))
  selectIds: Store['selectIds'] = (request) => this.#ask('selectIds', () => this.#store.selectIds(request))
  claimDue: Store['claimDue'] = (request) => this.#ask('claimDue', () => this.#store.claimDue(request))
  claimAbandoned: Store['claimAbandoned'] = (request) =>
    this.#ask('claimAbandoned', () => this.#store.claimAbandoned(request))
  leasedTo: Store['leasedTo'] = (request) => this.#ask('leasedTo', () => this.#store.leasedTo(request))
  servers: Store['servers'] = () => this.#store.servers()
  heartbeat: Store['heartbeat'] = (request) => this.#ask('heartbeat', () => this.#store.heartbeat(request))
  purge: Store['purge'] = (request) => this.#ask('purge', () => this.#purge(request))
  readRow: Store['readRow'] = (request) => this.#ask('readRow', () => this.#store.readRow(request))
  listRows: Store['listRows'] = (request) => this.#ask('listRows', () => this.#store.listRows(request))
  countRows: Store['countRows'] = (request) => this.#ask('countRows', () => this.#store.countRows(request))
  sweepRows: Store['sweepRows'] = (request) => this.#ask('sweepRows', () => this.#store.sweepRows(request))
  standstill: Store['standstill'] = (request) => this.#store.standstill(request)
  close: Store['close'] = () => this.#store.close()

  commit: Store['commit'] = (request) => {
    const { random } = this.#scheduler
    const { conflict, late } = this.#server.faults()
    const parts = [
      ...request.writes.map(({ context: { id, version } }) => `${id}v${version}`),
      ...(request.rows ?? []).map(({ space, key }) => `${space}:${key}`),
    ]
    const what = `commit ${parts.join('+')}`
    const write = async () => {
      const outcome = await this.#write(request)
      this.#scheduler.tell(
        this.#server,
        `${what} ${outcome.ok ? 'is true' : 'stale' in outcome ? 'is stale' : 'is refused'}`,
      )
      return outcome
    }
    // What only creates contexts was decided on nothing: nobody can have been faster.
    const stale = request.writes.find(({ previous }) => previous > 0)
    if (stale && random.chance(conflict)) {
      const { id } = stale.context
      return this.#ask('commit', async () => {
        this.#scheduler.tell(this.#server, `${what} meets a conflict`)
        const current = random.chance(0.5) ? await this.#store.load({ id }) : undefined
        return current === undefined ? { ok: false, stale: id } : { ok: false, stale: id, current }
      })
    }
    if (random.chance(late)) return this.#late(what, write)
    return this.#ask('commit', write)
  }

  /** As Redis does, more than are asked for: those that are left are refused once another server was given later ones. */
  async #reserve({ count, partition }: Parameters<Store['reserveIds']>[0]) {
    const ahead = this.#aheadCount()
    const { first, count: given } = await this.#store.reserveIds({ count: count + ahead, partition })
    const last = first + (given - 1) * this.partitions
    if (ahead > 0) this.#aheadOf(partition).add({ first: first + count * this.partitions, last })
    return { first, count: given }
  }

  #aheadOf(partition: number): AheadIds {
    const ahead = this.#ahead.get(partition) ?? new AheadIds()
    this.#ahead.set(partition, ahead)
    return ahead
  }

  async #write(request: CommitRequest) {
    const created = request.writes.flatMap(({ context, previous }) => (previous === 0 ? context.id : []))
    const partition = (created[0] ?? 0) % this.partitions
    const fence = this.#aheadOf(partition).fenceOf(created)
    const isOvertaken = fence !== '' && fence !== String(this.#memory.lastIds[partition])
    const befores = request.writes.map(({ context }) => this.#memory.contexts.get(context.id)?.context ?? null)
    const outcome = await this.#store.commit(request, isOvertaken ? created : [])
    if (outcome.ok) this.#witness.committed(request.writes, befores)
    return outcome
  }

  async #purge(request: Parameters<Store['purge']>[0]) {
    const before = [...this.#memory.contexts.keys()]
    const count = await this.#store.purge(request)
    for (const id of before) if (!this.#memory.contexts.has(id)) this.#witness.purged(id)
    return count
  }

  /** It is given up before it arrives. */
  async #late<T>(what: string, act: () => Promise<T>): Promise<T> {
    const { random } = this.#scheduler
    this.#scheduler.after(random.between(1, LATE_MS), null, () => {
      this.#scheduler.tell(this.#server, `${what} arrives late`)
      void act().catch(() => undefined)
    })
    await this.#scheduler.sleep(random.between(1, PATIENCE_MS), this.#server)
    throw inDoubt('the store did not answer in time')
  }

  #way(): number {
    const { random } = this.#scheduler
    return random.chance(this.#server.faults().slow) ? random.between(1, WAY_MS.slow) : random.between(0, WAY_MS.usual)
  }

  /** There and back. What is on its way to a store elsewhere when the server crashes arrives all the same. */
  #ask<T>(verb: Verb, act: () => Promise<T>): Promise<T> {
    const { random } = this.#scheduler
    const { lost, unanswered } = this.#server.faults()
    const refused = (isDoubtful: boolean) =>
      (isDoubtful && verb === 'commit' ? inDoubt : unavailable)('the store is out of reach')
    return new Promise<T>((resolve, reject) => {
      const back = (settle: () => void) => {
        this.#scheduler.after(this.#way(), this.#server, settle)
      }
      const fails = (isDoubtful: boolean) => {
        this.#scheduler.tell(this.#server, `${verb} fails${isDoubtful ? ', perhaps' : ''}`)
        back(() => reject(refused(isDoubtful)))
      }
      if (this.#isAway || random.chance(lost)) return fails(random.chance(0.5))
      this.#scheduler.after(this.#way(), this.#server.isAlone ? this.#server : null, () => {
        const acted = act()
        if (random.chance(unanswered)) {
          acted.catch(() => undefined)
          return fails(true)
        }
        acted.then(
          (value) => back(() => resolve(value)),
          (error: unknown) => back(() => reject(error)),
        )
      })
    })
  }
}
