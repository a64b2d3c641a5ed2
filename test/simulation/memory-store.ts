// A store in memory. Several handles share one memory, as servers share one Redis.
import type { ContextId } from '../../src/model/context.ts'
import { unavailable } from '../../src/model/failure.ts'
import { charactersOf } from '../../src/model/texts.ts'
import type {
  Selection,
  SelectQuery,
  TimeRange,
  Store,
  StoredContext,
  WaitingQuery,
  SelectedPage,
} from '../../src/ports/store.ts'
import { AheadIds } from '../../src/store/redis/ahead-ids.ts'
import type { Memory } from './memory.ts'

const has = (words: readonly string[], keys: readonly string[]) => words.some((word) => keys.includes(word))

const isIn = (time: number | null, range: TimeRange | undefined) =>
  !range || (time !== null && time > (range.after ?? -Infinity) && time < (range.before ?? Infinity))

/** One handle of that memory. */
export class MemoryStore implements Store {
  incarnation = 0
  readonly notes = { module: '', place: null }
  readonly #memory: Memory
  readonly #ahead = new Map<number, AheadIds>()
  #closed = false

  constructor(memory: Memory) {
    this.#memory = memory
  }

  get partitions(): number {
    return this.#memory.partitions
  }

  #aheadOf(partition: number): AheadIds {
    const ahead = this.#ahead.get(partition) ?? new AheadIds()
    this.#ahead.set(partition, ahead)
    return ahead
  }

  get #open(): Memory {
    if (this.#closed) throw unavailable('the server is stopping')
    return this.#memory
  }

  trouble = () => (this.#closed ? 'the store is closed' : null)
  /** As Redis does, more than are asked for: those that are left are refused once another handle was given later ones. */
  reserveIds: Store['reserveIds'] = async ({ count, partition }) => {
    const { partitions } = this
    const { ahead } = this.#memory
    const { first, count: given } = this.#open.reserveIds(count + ahead, partition)
    const last = first + (given - 1) * partitions
    if (ahead > 0) this.#aheadOf(partition).add({ first: first + count * partitions, last })
    return { first, count: given }
  }
  highestId: Store['highestId'] = async () => this.#open.highestId
  load: Store['load'] = async ({ id }) => this.#open.kept.get(id)?.context ?? null
  version: Store['version'] = async ({ id }) => this.#open.kept.get(id)?.context.version ?? null
  commit: Store['commit'] = async (request) => {
    const created = request.writes.flatMap(({ context, previous }) => (previous === 0 ? context.id : []))
    const partition = (created[0] ?? 0) % this.partitions
    const fence = this.#aheadOf(partition).fenceOf(created)
    const isOvertaken = fence !== '' && fence !== String(this.#open.lastId(partition))
    return this.#open.commit(request, isOvertaken ? created : [])
  }
  readRow: Store['readRow'] = async (row) => this.#open.rows.read(row)
  listRows: Store['listRows'] = async (query) => this.#open.rows.list(query)
  countRows: Store['countRows'] = async ({ space }) => this.#open.rows.count(space)
  sweepRows: Store['sweepRows'] = async ({ now, limit }) => this.#open.rows.sweep(now, limit)
  newest: Store['newest'] = async ({ key, partition }) => this.#open.newest(key, partition)
  log: Store['log'] = async ({ id, limit }) => (limit > 0 ? (this.#open.kept.get(id)?.log.slice(-limit) ?? []) : [])
  claimDue: Store['claimDue'] = async ({ now, limit, hideFor }) => this.#open.claimDue(now, limit, hideFor)
  claimAbandoned: Store['claimAbandoned'] = async (request) => this.#open.claimAbandoned(request)
  leasedTo: Store['leasedTo'] = async ({ owner }) => this.#open.leasedTo(owner)
  servers: Store['servers'] = async () => this.#open.servers()
  heartbeat: Store['heartbeat'] = async ({ owner }) => this.#open.heartbeat(owner)
  standstill: Store['standstill'] = async () => null
  putDefinition: Store['putDefinition'] = async ({ hash, text }) => void this.#open.definitions.set(hash, text)
  getDefinition: Store['getDefinition'] = async ({ hash }) => this.#open.definitions.get(hash) ?? null
  definitions: Store['definitions'] = async () => [...this.#open.definitions.keys()]
  purge: Store['purge'] = async ({ endedBefore, limit }) => this.#open.purge(endedBefore, limit)

  async select({ order, limit, skip = 0, characters = Infinity, ...selection }: SelectQuery): Promise<SelectedPage> {
    const matches = this.#matching(selection)
    if (order === 'desc') matches.reverse()
    const found = matches.slice(skip, skip + limit)
    let size = 0
    const cut = found.findIndex(({ parts }) => (size += charactersOf(parts)) >= characters)
    const contexts = cut < 0 ? found : found.slice(0, cut + 1)
    const last = contexts.at(-1)
    return { contexts, rest: last === undefined || last.id === matches.at(-1)?.id ? null : last.id }
  }

  async count(selection: Selection): Promise<number> {
    return this.#matching(selection).length
  }

  #matching({ any, without = [], after = 0, before = Infinity, windows = [], due, ended }: Selection): StoredContext[] {
    return this.#open.matching(
      ({ id, indexKeys, due: dueAt, endedAt }) =>
        any.some((keys) => keys.every((key) => indexKeys.includes(key))) &&
        !has(without, indexKeys) &&
        id < before &&
        isIn(id, windows[id % this.partitions]) &&
        isIn(dueAt, due) &&
        isIn(endedAt, ended),
      { after, limit: Infinity },
    )
  }

  async waitingFor({ any, without = [], upTo, ...page }: WaitingQuery): Promise<ContextId[]> {
    return this.#open
      .matching(({ id, indexKeys }) => id <= upTo && has(any, indexKeys) && !has(without, indexKeys), page)
      .map(({ id }) => id)
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}
