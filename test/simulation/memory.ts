// What a store in memory keeps: everything that the port promises, as plainly as it can be said.
import { type ContextId, MAX_LOG_ROWS, readyKindOf } from '../../src/model/context.ts'
import { partitionOfCommit } from '../../src/model/rows.ts'
import type {
  CommitOutcome,
  CommitRequest,
  AbandonedLease,
  Store,
  StoredContext,
  Write,
} from '../../src/ports/store.ts'
import type { ServerSeen } from '../../src/ports/store.ts'
import { MemoryRows } from './memory-rows.ts'

interface Kept {
  context: StoredContext
  log: string[]
  poked: boolean
  /** Until when a claim keeps others away. */
  hiddenUntil: number | null
  /** Set once its owner is dead: until when a claim keeps others away from its step. */
  abandonedUntil: number | null
  /** Place of its last write among all writes. */
  order: number
}

/** Hears of what becomes true, at that moment. */
export interface Witness {
  /** `befores`: what was there, in the order of the writes. */
  committed(writes: readonly Write[], befores: readonly (StoredContext | null)[]): void
  purged(id: ContextId): void
}

export interface MemoryOptions {
  readonly now: () => number
  readonly partitions?: number
  /** Milliseconds without heartbeat after which a server is dead; null: whoever else owns something is dead. */
  readonly silence: number | null
  readonly witness?: Witness
  /** How many ids are given ahead this time; none if left out. */
  readonly ahead?: () => number
}

/**
 * Ids given out at once to one that is alone. Of several, each gets as many as it asks for, so that later contexts
 * have higher ids.
 */
const IDS = 4

type ClaimRequest = Parameters<Store['claimAbandoned']>[0]

export class Memory {
  readonly partitions: number
  readonly kept = new Map<ContextId, Kept>()
  readonly rows: MemoryRows
  readonly #options: MemoryOptions
  readonly #lastIds: number[]
  readonly #beats = new Map<string, number>()
  readonly #dead = new Set<string>()
  #writes = 0
  highestId: ContextId = 0

  constructor(options: MemoryOptions) {
    this.#options = options
    this.rows = new MemoryRows(() => options.now())
    this.partitions = options.partitions ?? 1
    this.#lastIds = Array.from({ length: this.partitions }, (_, partition) =>
      partition === 0 ? 0 : partition - this.partitions,
    )
  }

  /** For the next reservation. */
  get ahead(): number {
    return this.#options.ahead?.() ?? 0
  }

  /** The last id given out in that partition. */
  lastId(partition: number): ContextId {
    return this.#lastIds[partition] ?? 0
  }

  reserveIds(count: number, partition: number): { first: ContextId; count: number } {
    const given = this.#options.silence === null ? Math.max(count, IDS) : count
    const first = (this.#lastIds[partition] ?? 0) + this.partitions
    this.#lastIds[partition] = first + (given - 1) * this.partitions
    return { first, count: given }
  }

  /** `overtaken`: contexts to be created whose ids were given ahead, and aren't the last any more. */
  commit({ writes, rows = [] }: CommitRequest, overtaken: readonly ContextId[]): CommitOutcome {
    const partition = partitionOfCommit(writes, rows, this.partitions)
    for (const {
      context: { id },
      previous,
    } of writes) {
      const current = this.kept.get(id)?.context ?? null
      if ((current?.version ?? 0) !== previous) return { ok: false, stale: id, current }
    }
    if (overtaken.length > 0) return { ok: false, overtaken }
    const refused = this.rows.refused(rows)
    if (refused) return { ok: false, row: refused }
    for (const { context, unique } of writes) {
      const by = unique === undefined ? undefined : this.#otherWith(unique, context.id, writes)
      if (unique !== undefined && by !== undefined) return { ok: false, unique: { key: unique, by } }
    }
    const gains = writes.some(({ context: { id, indexKeys } }) =>
      indexKeys.some((key) => this.kept.get(id)?.context.indexKeys.includes(key) !== true),
    )
    this.rows.write(rows)
    this.#options.witness?.committed(
      writes,
      writes.map(({ context: { id } }) => this.kept.get(id)?.context ?? null),
    )
    for (const write of writes) this.#write(write)
    // After the answers: a poke that comes along with one stands.
    for (const { notifies } of writes) {
      for (const id of notifies) {
        const kept = this.kept.get(id)
        if (kept) Object.assign(kept, { poked: true, hiddenUntil: null })
      }
    }
    return gains && this.rows.count('lookups', partition ?? 0) > 0 ? { ok: true, lookups: true } : { ok: true }
  }

  /** The first other context that has the key once the writes are made. */
  #otherWith(key: string, id: ContextId, writes: readonly Write[]): ContextId | undefined {
    const written = new Map(writes.map(({ context }) => [context.id, context]))
    const before = [...this.kept.values()].map(({ context }) => written.get(context.id) ?? context)
    return [...before, ...written.values()].find(
      (other) =>
        other.id !== id && other.id % this.partitions === id % this.partitions && other.indexKeys.includes(key),
    )?.id
  }

  #write({ context, changed, log, answersNotification }: Write): void {
    const { id, owner } = context
    const before = this.kept.get(id)
    const kept = before ?? { context, log: [], poked: false, hiddenUntil: null, abandonedUntil: null, order: 0 }
    // Only what is said to have changed is taken over, as by an adapter that writes parts.
    const parts = before ? { ...before.context.parts } : {}
    for (const name of before ? changed : Object.keys(context.parts)) {
      const text = Object.hasOwn(context.parts, name) ? context.parts[name] : undefined
      if (text === undefined) delete parts[name]
      else Object.defineProperty(parts, name, { value: text, enumerable: true, configurable: true, writable: true })
    }
    const isReady = owner !== null && readyKindOf(owner) !== null
    kept.order = this.#writes += 1
    if (isReady) kept.abandonedUntil = 0
    else if (owner !== before?.context.owner) kept.abandonedUntil = null
    else if (kept.abandonedUntil !== null) kept.abandonedUntil = 0
    if (owner !== null && !isReady && !this.#beats.has(owner)) this.#beats.set(owner, this.#options.now())
    kept.context = { ...context, parts }
    kept.log.push(...log)
    if (kept.log.length > MAX_LOG_ROWS * 1.25) kept.log = kept.log.slice(-MAX_LOG_ROWS)
    kept.hiddenUntil = null
    if (answersNotification) kept.poked = false
    this.kept.set(id, kept)
    this.highestId = Math.max(this.highestId, id)
  }

  /** As when the only process that has it begins anew: claims are forgotten, and nobody's steps run. */
  reopen(): void {
    for (const kept of this.kept.values()) {
      kept.hiddenUntil = null
      kept.abandonedUntil = kept.context.owner === null ? null : 0
    }
  }

  /** By ascending id. */
  matching(test: (context: StoredContext) => boolean): StoredContext[] {
    return [...this.kept.values()]
      .map(({ context }) => context)
      .filter(test)
      .sort((a, b) => a.id - b.id)
  }

  claimDue(now: number, limit: number, hideFor: number): { ids: ContextId[]; next: number | null } {
    const waking = () =>
      [...this.kept.values()]
        .flatMap((kept) => {
          const at = kept.hiddenUntil ?? (kept.poked ? 0 : kept.context.due)
          return at === null ? [] : { kept, at }
        })
        .sort((a, b) => a.at - b.at || a.kept.context.id - b.kept.context.id)
    const claimed = this.#perPartition(
      waking().filter(({ at }) => at <= now),
      limit,
      ({ kept }) => kept.context.id,
    )
    for (const { kept } of claimed) kept.hiddenUntil = now + hideFor
    return { ids: claimed.map(({ kept }) => kept.context.id), next: waking()[0]?.at ?? null }
  }

  claimAbandoned({ owner: caller, ready = [], limit, hideFor }: ClaimRequest): AbandonedLease[] {
    const now = this.#options.now()
    this.#judge(caller, now)
    const abandoned = [...this.kept.values()].filter(
      ({ context: { owner }, abandonedUntil }) =>
        abandonedUntil !== null &&
        abandonedUntil <= now &&
        (owner === null || readyKindOf(owner) === null || ready.includes(owner)),
    )
    // Those of each kind in the order in which they were written.
    const kindOf = ({ context: { owner } }: Kept) => (owner === null ? -1 : ready.indexOf(owner))
    abandoned.sort((a, b) => kindOf(a) - kindOf(b) || a.order - b.order)
    const claimed = this.#perPartition(abandoned, limit, ({ context }) => context.id)
    for (const kept of claimed) kept.abandonedUntil = now + hideFor
    return claimed.map(({ context: { id, owner } }) => ({ id, owner: owner ?? '' }))
  }

  /** Whoever has been silent for too long is dead, and what it owned is nobody's. */
  #judge(caller: string, now: number): void {
    const { silence } = this.#options
    for (const [owner, beat] of this.#beats) {
      const isDead = silence === null ? owner !== caller : beat <= now - silence
      if (!isDead) continue
      this.#beats.delete(owner)
      this.#dead.add(owner)
      for (const kept of this.kept.values()) if (kept.context.owner === owner) kept.abandonedUntil ??= 0
    }
  }

  leasedTo(owner: string): ContextId[] {
    return [...this.kept.values()]
      .filter(({ context, abandonedUntil }) => context.owner === owner && abandonedUntil === null)
      .map(({ context }) => context.id)
  }

  /** Whether it has ever been taken for dead. */
  isDead(owner: string): boolean {
    return this.#dead.has(owner)
  }

  servers(): ServerSeen[] {
    const now = this.#options.now()
    return [...this.#beats].map(([runId, beat]) => ({ runId, silentMs: now - beat }))
  }

  heartbeat(owner: string): boolean {
    if (this.#dead.has(owner)) return false
    this.#beats.set(owner, this.#options.now())
    return true
  }

  purge(endedBefore: number, limit: number): number {
    const gone = [...this.kept.values()]
      .filter(
        ({ context: { endedAt, parent } }) =>
          endedAt !== null && endedAt < endedBefore && !(parent !== null && this.kept.get(parent)?.poked === true),
      )
      .slice(0, limit)
    for (const {
      context: { id },
    } of gone) {
      this.#options.witness?.purged(id)
      this.kept.delete(id)
    }
    return gone.length
  }

  #perPartition<T>(all: readonly T[], limit: number, idOf: (one: T) => ContextId): T[] {
    const taken = new Map<number, number>()
    return all.filter((one) => {
      const partition = idOf(one) % this.partitions
      const count = (taken.get(partition) ?? 0) + 1
      taken.set(partition, count)
      return count <= limit
    })
  }
}
