// A store in memory. Several handles share one memory, as servers share one Redis.
import { unavailable } from '../../src/model/failure.ts'
import { charactersOf } from '../../src/model/texts.ts'
import type { Selection, Store, StoredContext, TimeRange } from '../../src/ports/store.ts'
import { AheadIds } from '../../src/store/redis/ahead-ids.ts'
import type { Memory } from './memory.ts'

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
  log: Store['log'] = async ({ id, limit }) => (limit > 0 ? (this.#open.kept.get(id)?.log.slice(-limit) ?? []) : [])
  claimDue: Store['claimDue'] = async ({ now, limit, hideFor }) => this.#open.claimDue(now, limit, hideFor)
  claimAbandoned: Store['claimAbandoned'] = async (request) => this.#open.claimAbandoned(request)
  leasedTo: Store['leasedTo'] = async ({ owner }) => this.#open.leasedTo(owner)
  servers: Store['servers'] = async () => this.#open.servers()
  heartbeat: Store['heartbeat'] = async ({ owner }) => this.#open.heartbeat(owner)
  standstill: Store['standstill'] = async () => null
  purge: Store['purge'] = async ({ endedBefore, limit }) => this.#open.purge(endedBefore, limit)

  selectIds: Store['selectIds'] = async ({ order, limit, skip = 0, ...selection }) => {
    const matches = this.#matching(selection)
    if (order === 'desc') matches.reverse()
    const ids = matches.slice(skip, skip + limit).map(({ id }) => id)
    return { ids, rest: ids.at(-1) === matches.at(-1)?.id ? null : (ids.at(-1) ?? null) }
  }

  select: Store['select'] = async ({ characters = Infinity, ...query }) => {
    const { ids, rest } = await this.selectIds(query)
    const found = ids.flatMap((id) => this.#open.kept.get(id)?.context ?? [])
    let size = 0
    const cut = found.findIndex(({ parts }) => (size += charactersOf(parts)) >= characters)
    const contexts = cut < 0 ? found : found.slice(0, cut + 1)
    return { contexts, rest: contexts.length < found.length ? (contexts.at(-1)?.id ?? null) : rest }
  }

  count: Store['count'] = async (selection) => this.#matching(selection).length

  #matching({ any, without = [], windows = [], partition, ...range }: Selection): StoredContext[] {
    return this.#open.matching(
      ({ id, indexKeys, due, endedAt }) =>
        any.some((keys) => keys.every((key) => indexKeys.includes(key))) &&
        !without.some((key) => indexKeys.includes(key)) &&
        (partition ?? id % this.partitions) === id % this.partitions &&
        isIn(id, range) &&
        isIn(id, windows[id % this.partitions]) &&
        isIn(due, range.due) &&
        isIn(endedAt, range.ended),
    )
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}
