// store/memory: one server's handle of a store in memory, which keeps nothing on disk. It is for tests: several handles
// share one `Memory`, as servers share one Redis. Each verb does what the port promises, as plainly as it can be said, and
// not fast.
import { type ContextId, MAX_LOG_ROWS, readyKindOf } from '../../model/context.ts'
import { unavailable } from '../../model/failure.ts'
import { partitionOfCommit } from '../../model/rows.ts'
import { charactersOf } from '../../model/texts.ts'
import type {
  CommitOutcome,
  CommitRequest,
  Selection,
  Store,
  StoredContext,
  TimeRange,
  Write,
} from '../../ports/store.ts'
import type { Entry, Memory } from './memory.ts'
import { limitOf } from './memory-rows.ts'

/**
 * Ids reserved at once for a server that is alone. One of several gets as many as it asks for, so that later contexts
 * have higher ids.
 */
const IDS_AT_ONCE = 4

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

  get #entries(): Entry[] {
    return [...this.#open.contexts.values()]
  }

  trouble = () => (this.#isClosed ? 'the store is closed' : null)
  highestId: Store['highestId'] = async () => this.#open.highestId
  load: Store['load'] = async ({ id }) => this.#open.contexts.get(id)?.context ?? null
  version: Store['version'] = async ({ id }) => this.#open.contexts.get(id)?.context.version ?? null
  log: Store['log'] = async ({ id, limit }) => (limit > 0 ? (this.#open.contexts.get(id)?.log.slice(-limit) ?? []) : [])
  readRow: Store['readRow'] = async (row) => this.#open.rows.read(row)
  listRows: Store['listRows'] = async (query) => this.#open.rows.list(query)
  countRows: Store['countRows'] = async ({ space }) => this.#open.rows.count(space)
  sweepRows: Store['sweepRows'] = async (request) => this.#open.rows.sweep(request)
  standstill: Store['standstill'] = async () => null
  count: Store['count'] = async (selection) => this.#matching(selection).length

  reserveIds: Store['reserveIds'] = async ({ count, partition }) => {
    const { silence, lastIds } = this.#open
    const given = silence === null ? Math.max(count, IDS_AT_ONCE) : count
    const last = lastIds[partition] ?? 0
    lastIds[partition] = last + given * this.partitions
    return { first: last + this.partitions, count: given }
  }

  /** `overtaken`: contexts to be created under ids that were reserved ahead, and are not the last any more. */
  async commit({ writes, rows = [] }: CommitRequest, overtaken: readonly ContextId[] = []): Promise<CommitOutcome> {
    const { contexts, rows: stored } = this.#open
    const partition = partitionOfCommit(writes, rows, this.partitions)
    for (const { context, previous } of writes) {
      const current = contexts.get(context.id)?.context ?? null
      if ((current?.version ?? 0) !== previous) return { ok: false, stale: context.id, current }
    }
    if (overtaken.length > 0) return { ok: false, overtaken }
    const row = stored.refused(rows)
    if (row) return { ok: false, row }
    for (const { context, unique } of writes) {
      const by = unique === undefined ? undefined : this.#otherWith(unique, context.id, writes)
      if (unique !== undefined && by !== undefined) return { ok: false, unique: { key: unique, by } }
    }
    const gains = writes.some(({ context: { id, indexKeys } }) => {
      const before = contexts.get(id)?.context.indexKeys
      return indexKeys.some((key) => before?.includes(key) !== true)
    })
    stored.write(rows)
    for (const write of writes) this.#write(write)
    // After the answers: a notification in the commit of an answer stands.
    for (const id of writes.flatMap(({ notifies }) => notifies)) {
      const entry = contexts.get(id)
      if (entry) Object.assign(entry, { isNotified: true, hiddenUntil: null })
    }
    return gains && stored.count('lookups', partition ?? 0) > 0 ? { ok: true, lookups: true } : { ok: true }
  }

  /** The first other context that has the key once the writes are made. */
  #otherWith(key: string, id: ContextId, writes: readonly Write[]): ContextId | undefined {
    const all = new Map(this.#entries.map(({ context }) => [context.id, context]))
    for (const { context } of writes) all.set(context.id, context)
    const isOther = (other: ContextId) => other !== id && other % this.partitions === id % this.partitions
    return [...all.values()].find((other) => isOther(other.id) && other.indexKeys.includes(key))?.id
  }

  #write({ context, changed, log, answersNotification }: Write): void {
    const { id, owner } = context
    const memory = this.#memory
    const before = memory.contexts.get(id)
    const entry = before ?? { context, log: [], isNotified: false, hiddenUntil: null, abandonedUntil: null, order: 0 }
    // Only what is said to have changed is taken over, as by an adapter that writes parts.
    const kept = Object.entries(before?.context.parts ?? {}).filter(([name]) => !changed.includes(name))
    const given = Object.entries(context.parts).filter(([name]) => !before || changed.includes(name))
    const isReady = owner !== null && readyKindOf(owner) !== null
    entry.order = memory.writes += 1
    if (isReady) entry.abandonedUntil = 0
    else if (owner !== before?.context.owner) entry.abandonedUntil = null
    else if (entry.abandonedUntil !== null) entry.abandonedUntil = 0
    if (owner !== null && !isReady && !memory.beats.has(owner)) memory.beats.set(owner, memory.now())
    entry.context = { ...context, parts: Object.fromEntries([...kept, ...given]) }
    entry.log.push(...log)
    if (entry.log.length > MAX_LOG_ROWS * 1.25) entry.log = entry.log.slice(-MAX_LOG_ROWS)
    entry.hiddenUntil = null
    if (answersNotification) entry.isNotified = false
    memory.contexts.set(id, entry)
    memory.highestId = Math.max(memory.highestId, id)
  }

  claimDue: Store['claimDue'] = async ({ now, limit, hideFor }) => {
    const waking = () =>
      this.#entries
        .flatMap((entry) => {
          const at = entry.hiddenUntil ?? (entry.isNotified ? 0 : entry.context.due)
          return at === null ? [] : { entry, id: entry.context.id, at }
        })
        .sort((a, b) => a.at - b.at || a.id - b.id)
    const due = waking().filter(({ at }) => at <= now)
    const claimed = limitOf(limit, due, ({ id }) => id % this.partitions)
    for (const { entry } of claimed) entry.hiddenUntil = now + hideFor
    return { ids: claimed.map(({ id }) => id), next: waking()[0]?.at ?? null }
  }

  claimAbandoned: Store['claimAbandoned'] = async ({ owner: caller, ready = [], limit, hideFor }) => {
    const now = this.#open.now()
    this.#declareDead(caller, now)
    const abandoned = this.#entries.filter(
      ({ context: { owner }, abandonedUntil }) =>
        abandonedUntil !== null &&
        abandonedUntil <= now &&
        (owner === null || readyKindOf(owner) === null || ready.includes(owner)),
    )
    // Those of each kind in the order in which they were written.
    const kindOf = ({ context: { owner } }: Entry) => (owner === null ? -1 : ready.indexOf(owner))
    abandoned.sort((a, b) => kindOf(a) - kindOf(b) || a.order - b.order)
    const claimed = limitOf(limit, abandoned, ({ context }) => context.id % this.partitions)
    for (const entry of claimed) entry.abandonedUntil = now + hideFor
    return claimed.map(({ context: { id, owner } }) => ({ id, owner: owner ?? '' }))
  }

  /** A server that has been silent for too long is dead, and its steps are abandoned. */
  #declareDead(caller: string, now: number): void {
    const { silence, beats, dead } = this.#memory
    for (const [owner, beat] of beats) {
      if (silence === null ? owner === caller : beat > now - silence) continue
      beats.delete(owner)
      dead.add(owner)
      for (const entry of this.#entries) if (entry.context.owner === owner) entry.abandonedUntil ??= 0
    }
  }

  leasedTo: Store['leasedTo'] = async ({ owner }) =>
    this.#entries
      .filter(({ context, abandonedUntil }) => context.owner === owner && abandonedUntil === null)
      .map(({ context }) => context.id)

  servers: Store['servers'] = async () => {
    const { now, silence, beats } = this.#open
    return silence === null ? [] : Array.from(beats, ([runId, beat]) => ({ runId, silentMs: now() - beat }))
  }

  heartbeat: Store['heartbeat'] = async ({ owner }) => {
    const { dead, beats, now } = this.#open
    if (!dead.has(owner)) beats.set(owner, now())
    return !dead.has(owner)
  }

  purge: Store['purge'] = async ({ endedBefore, limit }) => {
    const { contexts } = this.#open
    const gone = this.#entries
      .map(({ context }) => context)
      .filter(
        ({ endedAt, parent }) =>
          endedAt !== null && endedAt < endedBefore && !(parent !== null && contexts.get(parent)?.isNotified === true),
      )
      .slice(0, limit)
    for (const { id } of gone) contexts.delete(id)
    return gone.length
  }

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
    return this.#entries
      .map(({ context }) => context)
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
