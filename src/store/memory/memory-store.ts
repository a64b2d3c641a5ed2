// store/memory: one server's handle of a store in memory, which keeps nothing on disk. It is for tests: it passes the
// contract of the port, and several handles share one `Memory`, as servers share one Redis.
import type { ContextId } from '../../model/context.ts'
import { unavailable } from '../../model/failure.ts'
import { charactersOf } from '../../model/texts.ts'
import type { CommitOutcome, CommitRequest, Selection, Store, StoredContext, TimeRange } from '../../ports/store.ts'
import type { Memory } from './memory.ts'

export class MemoryStore implements Store {
  readonly incarnation = 0
  readonly notes = { module: '', place: null }
  readonly partitions: number
  readonly #memory: Memory
  #isClosed = false

  constructor(memory: Memory) {
    this.#memory = memory
    this.partitions = memory.partitions
  }

  get #open(): Memory {
    if (this.#isClosed) throw unavailable('the server is stopping')
    return this.#memory
  }

  trouble = () => (this.#isClosed ? 'the store is closed' : null)
  /** `overtaken`: contexts to be created under ids that were reserved ahead, and are not the last any more. */
  commit = async (request: CommitRequest, overtaken: readonly ContextId[] = []): Promise<CommitOutcome> =>
    this.#open.commit(request, overtaken)
  reserveIds: Store['reserveIds'] = async (request) => this.#open.reserveIds(request)
  highestId: Store['highestId'] = async () => this.#open.highestId
  load: Store['load'] = async ({ id }) => this.#open.contexts.get(id)?.context ?? null
  version: Store['version'] = async ({ id }) => this.#open.contexts.get(id)?.context.version ?? null
  log: Store['log'] = async ({ id, limit }) => (limit > 0 ? (this.#open.contexts.get(id)?.log.slice(-limit) ?? []) : [])
  readRow: Store['readRow'] = async (row) => this.#open.rows.read(row)
  listRows: Store['listRows'] = async (query) => this.#open.rows.list(query)
  countRows: Store['countRows'] = async ({ space }) => this.#open.rows.count(space)
  sweepRows: Store['sweepRows'] = async (request) => this.#open.rows.sweep(request)
  claimDue: Store['claimDue'] = async (request) => this.#open.claimDue(request)
  claimAbandoned: Store['claimAbandoned'] = async (request) => this.#open.claimAbandoned(request)
  leasedTo: Store['leasedTo'] = async ({ owner }) => this.#open.leasedTo(owner)
  servers: Store['servers'] = async () => this.#open.servers()
  heartbeat: Store['heartbeat'] = async ({ owner }) => this.#open.heartbeat(owner)
  standstill: Store['standstill'] = async () => null
  purge: Store['purge'] = async (request) => this.#open.purge(request)
  count: Store['count'] = async (selection) => this.#matching(selection).length

  selectIds: Store['selectIds'] = async ({ order, limit, skip = 0, ...selection }) => {
    const matches = this.#matching(selection)
    if (order === 'desc') matches.reverse()
    const ids = matches.slice(skip, skip + limit).map(({ id }) => id)
    return { ids, rest: ids.at(-1) === matches.at(-1)?.id ? null : (ids.at(-1) ?? null) }
  }

  select: Store['select'] = async ({ characters = Infinity, ...query }) => {
    const { ids, rest } = await this.selectIds(query)
    const found = ids.flatMap((id) => this.#open.contexts.get(id)?.context ?? [])
    let size = 0
    const cut = found.findIndex(({ parts }) => (size += charactersOf(parts)) >= characters)
    const contexts = cut < 0 ? found : found.slice(0, cut + 1)
    return { contexts, rest: contexts.length < found.length ? (contexts.at(-1)?.id ?? null) : rest }
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  /** By ascending id. */
  #matching({ any, without = [], windows = [], partition, ...range }: Selection): StoredContext[] {
    return Array.from(this.#open.contexts.values(), ({ context }) => context)
      .filter(
        ({ id, indexKeys, due, endedAt }) =>
          any.some((keys) => keys.every((key) => indexKeys.includes(key))) &&
          !without.some((key) => indexKeys.includes(key)) &&
          (partition ?? id % this.partitions) === id % this.partitions &&
          isIn(id, range) &&
          isIn(id, windows[id % this.partitions]) &&
          isIn(due, range.due) &&
          isIn(endedAt, range.ended),
      )
      .sort((a, b) => a.id - b.id)
  }
}

const isIn = (time: number | null, range: TimeRange | undefined) =>
  !range || (time !== null && time > (range.after ?? -Infinity) && time < (range.before ?? Infinity))
