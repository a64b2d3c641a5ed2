// store/memory: what the servers of one store share: contexts and rows, and who of the servers lives. Each
// verb does what the port promises, as plainly as it can be said, and not fast.
import { type ContextId, MAX_LOG_ROWS, readyKindOf } from '../../model/context.ts'
import { partitionOfCommit } from '../../model/rows.ts'
import type {
  AbandonedLease,
  CommitOutcome,
  CommitRequest,
  ServerSeen,
  Store,
  StoredContext,
  Write,
} from '../../ports/store.ts'
import { limitOf, MemoryRows } from './memory-rows.ts'

interface Entry {
  context: StoredContext
  log: string[]
  /** Whether a relative has told it of its end, and it has not answered yet. */
  isNotified: boolean
  /** Until when a claim hides it from others; null: nothing does. */
  hiddenUntil: number | null
  /** Set once its owner is dead, or no server: until when a claim hides its step from others. */
  abandonedUntil: number | null
  /** Place of its last write among all writes. */
  order: number
}

export interface MemoryOptions {
  readonly now: () => number
  readonly partitions?: number
  /**
   * Milliseconds without a heartbeat after which a server is dead; null: one server is alone, and every other owner is
   * dead.
   */
  readonly silence: number | null
}

/**
 * Ids reserved at once for a server that is alone. One of several gets as many as it asks for, so that later contexts
 * have higher ids.
 */
const IDS_AT_ONCE = 4

type Request<Verb extends 'reserveIds' | 'claimDue' | 'claimAbandoned' | 'purge'> = Parameters<Store[Verb]>[0]

export class Memory {
  readonly partitions: number
  readonly contexts = new Map<ContextId, Entry>()
  readonly rows: MemoryRows
  /** The last id that was reserved in each partition. */
  readonly lastIds: number[]
  /** Servers that were ever taken for dead, by boot id. */
  readonly dead = new Set<string>()
  highestId: ContextId = 0
  readonly #options: MemoryOptions
  /** When each server was last heard of, epoch milliseconds. */
  readonly #beats = new Map<string, number>()
  #writes = 0

  constructor(options: MemoryOptions) {
    this.#options = options
    this.partitions = options.partitions ?? 1
    this.rows = new MemoryRows(options.now)
    this.lastIds = Array.from({ length: this.partitions }, (_, partition) =>
      partition === 0 ? 0 : partition - this.partitions,
    )
  }

  reserveIds({ count, partition }: Request<'reserveIds'>): { first: ContextId; count: number } {
    const given = this.#options.silence === null ? Math.max(count, IDS_AT_ONCE) : count
    const last = this.lastIds[partition] ?? 0
    this.lastIds[partition] = last + given * this.partitions
    return { first: last + this.partitions, count: given }
  }

  commit({ writes, rows = [] }: CommitRequest, overtaken: readonly ContextId[]): CommitOutcome {
    const partition = partitionOfCommit(writes, rows, this.partitions)
    for (const { context, previous } of writes) {
      const current = this.contexts.get(context.id)?.context ?? null
      if ((current?.version ?? 0) !== previous) return { ok: false, stale: context.id, current }
    }
    if (overtaken.length > 0) return { ok: false, overtaken }
    const row = this.rows.refused(rows)
    if (row) return { ok: false, row }
    for (const { context, unique } of writes) {
      const by = unique === undefined ? undefined : this.#otherWith(unique, context.id, writes)
      if (unique !== undefined && by !== undefined) return { ok: false, unique: { key: unique, by } }
    }
    const gains = writes.some(({ context: { id, indexKeys } }) => {
      const before = this.contexts.get(id)?.context.indexKeys
      return indexKeys.some((key) => before?.includes(key) !== true)
    })
    this.rows.write(rows)
    for (const write of writes) this.#write(write)
    // After the answers: a notification in the commit of an answer stands.
    for (const id of writes.flatMap(({ notifies }) => notifies)) {
      const entry = this.contexts.get(id)
      if (entry) Object.assign(entry, { isNotified: true, hiddenUntil: null })
    }
    return gains && this.rows.count('lookups', partition ?? 0) > 0 ? { ok: true, lookups: true } : { ok: true }
  }

  /** The first other context that has the key once the writes are made. */
  #otherWith(key: string, id: ContextId, writes: readonly Write[]): ContextId | undefined {
    const all = new Map(Array.from(this.contexts, ([other, { context }]) => [other, context]))
    for (const { context } of writes) all.set(context.id, context)
    const isOther = (other: ContextId) => other !== id && other % this.partitions === id % this.partitions
    return [...all.values()].find((other) => isOther(other.id) && other.indexKeys.includes(key))?.id
  }

  #write({ context, changed, log, answersNotification }: Write): void {
    const { id, owner } = context
    const before = this.contexts.get(id)
    const entry = before ?? { context, log: [], isNotified: false, hiddenUntil: null, abandonedUntil: null, order: 0 }
    // Only what is said to have changed is taken over, as by an adapter that writes parts.
    const kept = Object.entries(before?.context.parts ?? {}).filter(([name]) => !changed.includes(name))
    const given = Object.entries(context.parts).filter(([name]) => !before || changed.includes(name))
    const isReady = owner !== null && readyKindOf(owner) !== null
    entry.order = this.#writes += 1
    if (isReady) entry.abandonedUntil = 0
    else if (owner !== before?.context.owner) entry.abandonedUntil = null
    else if (entry.abandonedUntil !== null) entry.abandonedUntil = 0
    if (owner !== null && !isReady && !this.#beats.has(owner)) this.#beats.set(owner, this.#options.now())
    entry.context = { ...context, parts: Object.fromEntries([...kept, ...given]) }
    entry.log.push(...log)
    if (entry.log.length > MAX_LOG_ROWS * 1.25) entry.log = entry.log.slice(-MAX_LOG_ROWS)
    entry.hiddenUntil = null
    if (answersNotification) entry.isNotified = false
    this.contexts.set(id, entry)
    this.highestId = Math.max(this.highestId, id)
  }

  /** As when the one server that has it begins anew: claims are forgotten, and no step runs. */
  reopen(): void {
    for (const entry of this.contexts.values()) {
      entry.hiddenUntil = null
      entry.abandonedUntil = entry.context.owner === null ? null : 0
    }
  }

  claimDue({ now, limit, hideFor }: Request<'claimDue'>): { ids: ContextId[]; next: number | null } {
    const waking = () =>
      [...this.contexts.values()]
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

  claimAbandoned({ owner: caller, ready = [], limit, hideFor }: Request<'claimAbandoned'>): AbandonedLease[] {
    const now = this.#options.now()
    this.#declareDead(caller, now)
    const abandoned = [...this.contexts.values()].filter(
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
    const { silence } = this.#options
    for (const [owner, beat] of this.#beats) {
      if (silence === null ? owner === caller : beat > now - silence) continue
      this.#beats.delete(owner)
      this.dead.add(owner)
      for (const entry of this.contexts.values()) if (entry.context.owner === owner) entry.abandonedUntil ??= 0
    }
  }

  leasedTo(owner: string): ContextId[] {
    return [...this.contexts.values()]
      .filter(({ context, abandonedUntil }) => context.owner === owner && abandonedUntil === null)
      .map(({ context }) => context.id)
  }

  servers(): ServerSeen[] {
    const now = this.#options.now()
    if (this.#options.silence === null) return []
    return Array.from(this.#beats, ([runId, beat]) => ({ runId, silentMs: now - beat }))
  }

  heartbeat(owner: string): boolean {
    if (this.dead.has(owner)) return false
    this.#beats.set(owner, this.#options.now())
    return true
  }

  purge({ endedBefore, limit }: Request<'purge'>): number {
    const gone = [...this.contexts.values()]
      .map(({ context }) => context)
      .filter(
        ({ endedAt, parent }) =>
          endedAt !== null &&
          endedAt < endedBefore &&
          !(parent !== null && this.contexts.get(parent)?.isNotified === true),
      )
      .slice(0, limit)
    for (const { id } of gone) this.contexts.delete(id)
    return gone.length
  }
}
