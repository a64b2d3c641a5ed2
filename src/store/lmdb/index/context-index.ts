// store/lmdb: what is known of every context without reading it. It shows what is on disk, never more.
import { type ContextId, UNOWNED } from '../../../model/context.ts'
import type { RowSpace } from '../../../model/rows.ts'
import type { Header } from '../stored-context.ts'
import { KeyIndex, type Posting } from './key-index.ts'
import type { Selectable } from './selected.ts'
import { TimeQueue } from './time-queue.ts'
import type { AbandonedLease, Store, TimeRange } from '../../../ports/store.ts'

/** It changes with each commit of its context: to be read at once. */
export type Entry = Omit<Header, 'indexKeys' | 'owner'> & { readonly postings: readonly Posting[] }

const NO_POSTINGS: readonly Posting[] = []

export class ContextIndex implements Selectable {
  /** The highest id given out. */
  lastId: ContextId = 0
  /** The highest id that a context had. */
  highestId: ContextId = 0
  readonly #entries = new Map<ContextId, Entry>()
  readonly keys = new KeyIndex()
  readonly #notified = new Set<ContextId>()
  /** Claimed contexts, and when they may be claimed again. */
  readonly #hidden = new Map<ContextId, number>()
  readonly owners = new Owners()
  readonly #wakeUps = new TimeQueue((id) => this.#wakeAt(id))
  readonly #rowCounts: Map<RowSpace, number>
  readonly #ends = new TimeQueue((id) => this.#entries.get(id)?.endedAt ?? null)

  /** `rowCounts`: how many rows each space has. */
  constructor(rowCounts: readonly (readonly [RowSpace, number])[] = []) {
    this.#rowCounts = new Map(rowCounts)
  }

  get size(): number {
    return this.#entries.size
  }

  entry(id: ContextId): Entry | null {
    return this.#entries.get(id) ?? null
  }

  isNotified(id: ContextId): boolean {
    return this.#notified.has(id)
  }

  put(id: ContextId, header: Header): void {
    const { version, due, endedAt, parent, firstRow, nextRow, owner, large } = header
    const known = this.#entries.get(id)
    const postings = this.keys.replace(id, known?.postings ?? NO_POSTINGS, header.indexKeys)
    const wasWokenAt = known && this.#wakeAt(id)
    if (endedAt !== null && endedAt !== known?.endedAt) this.#ends.push(id, endedAt)
    if (known === undefined) {
      this.#entries.set(id, { version, due, endedAt, parent, firstRow, nextRow, postings, large })
      this.keys.add(id)
      if (id > this.highestId) this.highestId = id
    } else {
      // In place: a new entry for each event would be garbage that has become old.
      Object.assign(known, { version, due, endedAt, firstRow, nextRow, postings, large })
      this.#hidden.delete(id)
    }
    this.#wake(id, wasWokenAt ?? null)
    if (owner !== null || known !== undefined) this.owners.set(id, owner)
  }

  remove(id: ContextId): void {
    this.keys.remove(id, this.#entries.get(id)?.postings ?? NO_POSTINGS)
    this.#entries.delete(id)
    this.#notified.delete(id)
    this.#hidden.delete(id)
    this.owners.set(id, null)
  }

  /** `isNotified`: whether it must look at its relatives, at once. */
  setNotified(id: ContextId, isNotified: boolean): void {
    const wasWokenAt = this.#wakeAt(id)
    if (isNotified) this.#notified.add(id)
    else this.#notified.delete(id)
    this.#hidden.delete(id)
    this.#wake(id, wasWokenAt)
  }

  /** Rows of a space, expired ones included. */
  rowCount(space: RowSpace): number {
    return this.#rowCounts.get(space) ?? 0
  }

  /** Spaces have so many rows more, or fewer. */
  addRows(gained: ReadonlyMap<RowSpace, number>): void {
    for (const [space, count] of gained) this.#rowCounts.set(space, this.rowCount(space) + count)
  }

  claimDue({ now, limit, hideFor }: Parameters<Store['claimDue']>[0]) {
    const ids = new Set<ContextId>()
    while (ids.size < limit) {
      const top = this.#wakeUps.peek()
      if (top === null || top.time > now) break
      this.#wakeUps.pop()
      ids.add(top.id)
    }
    for (const id of ids) {
      this.#hidden.set(id, now + hideFor)
      this.#wakeUps.push(id, now + hideFor)
    }
    return { ids: [...ids], next: this.#wakeUps.peek()?.time ?? null }
  }

  /** Contexts that finished between these times, both exclusive. */
  ended({ after = -Infinity, before = Infinity }: TimeRange): Iterable<ContextId> {
    // It drops what is outdated: purged contexts would be met again and again.
    const first = this.#ends.peek()
    return first === null || first.time >= before ? [] : this.#ends.between(after, before)
  }

  /** The contexts that may be due before that time. Claims and notifications hide when one is due. */
  *mayBeDue(before: number): Generator<ContextId> {
    yield* this.#wakeUps.between(-Infinity, before)
    yield* this.#hidden.keys()
    yield* this.#notified
  }

  #wakeAt(id: ContextId): number | null {
    return this.#hidden.get(id) ?? (this.#notified.has(id) ? 0 : (this.#entries.get(id)?.due ?? null))
  }

  /** To be called when something has changed that its time follows from. */
  #wake(id: ContextId, before: number | null): void {
    const after = this.#wakeAt(id)
    if (after !== null && after !== before) this.#wakeUps.push(id, after)
  }
}

interface Owned {
  readonly owner: string
  /** Until when a claim hides the step from others, epoch milliseconds. */
  claimedUntil: number
}

/** The owners of the steps of contexts, and which of these have been claimed. */
class Owners {
  /** In the order in which the owners were written. */
  readonly #owned = new Map<ContextId, Owned>()

  /** null: no server is to run a step of it. */
  set(id: ContextId, owner: string | null): void {
    const before = this.#owned.get(id)
    if (before !== undefined && before.owner === owner) {
      before.claimedUntil = 0
      return
    }
    if (before !== undefined) this.#owned.delete(id)
    if (owner !== null) this.#owned.set(id, { owner, claimedUntil: 0 })
  }

  of(owner: string): ContextId[] {
    return [...this.#owned].flatMap(([id, owned]) => (owned.owner === owner ? id : []))
  }

  /** The folder has one process at a time: an owner that isn't the caller is dead. */
  claim({ owner: caller, ready = [], limit, hideFor }: Parameters<Store['claimAbandoned']>[0], now: number) {
    const leases: AbandonedLease[] = []
    for (const [id, owned] of this.#owned) {
      if (leases.length >= limit) break
      const { owner, claimedUntil } = owned
      if (owner === caller || claimedUntil > now || (!ready.includes(owner) && owner.startsWith(`${UNOWNED}/`)))
        continue
      owned.claimedUntil = now + hideFor
      leases.push({ id, owner })
    }
    // Those of dead servers first, then by kind.
    return leases.sort((one, other) => ready.indexOf(one.owner) - ready.indexOf(other.owner))
  }
}
