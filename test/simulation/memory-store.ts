// A store in memory. Several handles share one memory, as servers share one Redis.
import type { ContextId } from '../../src/model/context.ts'
import { unavailable } from '../../src/model/failure.ts'
import { charactersOf } from '../../src/model/texts.ts'
import type { ListQuery, PageRequest, Store, StoredContext } from '../../src/ports/store.ts'
import type { Memory } from './memory.ts'

/** One handle of that memory. */
export class MemoryStore implements Store {
  incarnation = 0
  readonly notes = { module: '', place: null }
  readonly #memory: Memory
  #closed = false

  constructor(memory: Memory) {
    this.#memory = memory
  }

  get partitions(): number {
    return this.#memory.partitions
  }

  get #open(): Memory {
    if (this.#closed) throw unavailable('the server is stopping')
    return this.#memory
  }

  trouble = () => (this.#closed ? 'the store is closed' : null)
  reserveIds: Store['reserveIds'] = async ({ count, partition }) => this.#open.reserveIds(count, partition)
  highestId: Store['highestId'] = async () => this.#open.highestId
  load: Store['load'] = async ({ id }) => this.#open.kept.get(id)?.context ?? null
  version: Store['version'] = async ({ id }) => this.#open.kept.get(id)?.context.version ?? null
  commit: Store['commit'] = async (request) => this.#open.commit(request)
  readRow: Store['readRow'] = async (row) => this.#open.rows.read(row)
  listRows: Store['listRows'] = async (query) => this.#open.rows.list(query)
  countRows: Store['countRows'] = async ({ space }) => this.#open.rows.count(space)
  sweepRows: Store['sweepRows'] = async ({ now, limit }) => this.#open.rows.sweep(now, limit)
  newest: Store['newest'] = async ({ key, partition }) => this.#open.newest(key, partition)
  log: Store['log'] = async ({ id, limit }) => (limit > 0 ? (this.#open.kept.get(id)?.log.slice(-limit) ?? []) : [])
  claimDue: Store['claimDue'] = async ({ now, limit, hideFor }) => this.#open.claimDue(now, limit, hideFor)
  claimAbandoned: Store['claimAbandoned'] = async ({ owner, limit, hideFor }) =>
    this.#open.claimAbandoned(owner, limit, hideFor)
  leasedTo: Store['leasedTo'] = async ({ owner }) => this.#open.leasedTo(owner)
  heartbeat: Store['heartbeat'] = async ({ owner }) => this.#open.heartbeat(owner)
  standstill: Store['standstill'] = async () => null
  putDefinition: Store['putDefinition'] = async ({ hash, text }) => void this.#open.definitions.set(hash, text)
  getDefinition: Store['getDefinition'] = async ({ hash }) => this.#open.definitions.get(hash) ?? null
  definitions: Store['definitions'] = async () => [...this.#open.definitions.keys()]
  purge: Store['purge'] = async ({ endedBefore, limit }) => this.#open.purge(endedBefore, limit)

  async list({ all, without = [], characters = Infinity, ...page }: ListQuery): Promise<StoredContext[]> {
    const found = this.#open.matching(
      ({ indexKeys }) =>
        all.every((word) => indexKeys.includes(word)) && !without.some((word) => indexKeys.includes(word)),
      page,
    )
    let size = 0
    const cut = found.findIndex(({ parts }) => (size += charactersOf(parts)) >= characters)
    return cut < 0 ? found : found.slice(0, cut + 1)
  }

  async waitingFor({
    any,
    upTo,
    ...page
  }: { any: readonly string[]; upTo: ContextId } & PageRequest): Promise<ContextId[]> {
    return this.#open
      .matching(({ id, indexKeys }) => id <= upTo && any.some((word) => indexKeys.includes(word)), page)
      .map(({ id }) => id)
  }

  async close(): Promise<void> {
    this.#closed = true
  }
}
