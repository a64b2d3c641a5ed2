// store/lmdb: what is known of every context without reading it. It shows what is on disk, never more.
import type { ContextId } from '../../../model/context.ts'
import type { RowSpace } from '../../../model/rows.ts'
import type { Header } from '../stored-context.ts'
import { KeyIndex, type Posting } from './key-index.ts'
import { Owners } from './owners.ts'
import type { Selectable } from './selected.ts'
import { TimeQueue } from './time-queue.ts'

export type Entry = Omit<Header, 'indexKeys' | 'owner'> & { readonly postings: readonly Posting[] }

/** Contexts with a time in a range that are sorted by id: more of them are found soon enough among all. */
const MOST_TIMED = 8192

const NO_POSTINGS: readonly Posting[] = []

export class Memory implements Selectable {
  /** The highest id given out. */
  lastId: ContextId = 0
  /** The highest id that a context had. */
  highestId: ContextId = 0
  readonly #entries = new Map<ContextId, Entry>()
  readonly index = new KeyIndex()
  readonly #notified = new Set<ContextId>()
  /** Claimed contexts, and when they may be claimed again. */
  readonly #hidden = new Map<ContextId, number>()
  readonly owners = new Owners()
  readonly #wakeUps = new TimeQueue((id) => this.#wakeAt(id))
  readonly #rowCounts: Map<RowSpace, number>
  readonly #ends = new TimeQueue((id) => this.#entries.get(id)?.endedAt ?? null)

  readonly times: Selectable['times'] = {
    due: (id) => this.#entries.get(id)?.due ?? null,
    ended: (id) => this.#entries.get(id)?.endedAt ?? null,
    dueIn: ({ before }) => this.#dueBefore(before),
    endedIn: ({ after = -Infinity, before = Infinity }) => this.#ends.between(after, before, MOST_TIMED),
  }

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
    const before = this.#entries.get(id)
    const postings = this.index.replace(id, before?.postings ?? NO_POSTINGS, header.indexKeys)
    const entry = { version, due, endedAt, parent, firstRow, nextRow, postings, large }
    if (before === undefined) {
      // No relative can have notified it, and no server claimed it.
      this.index.add(id)
      this.#entries.set(id, entry)
      if (id > this.highestId) this.highestId = id
      if (due !== null) this.#wakeUps.push(id, due)
    } else {
      const wasWokenAt = this.#wakeAt(id)
      this.#entries.set(id, entry)
      this.#hidden.delete(id)
      this.#wake(id, wasWokenAt)
    }
    if (endedAt !== null && endedAt !== before?.endedAt) this.#ends.push(id, endedAt)
    if (owner !== null || before !== undefined) this.owners.set(id, owner)
  }

  remove(id: ContextId): void {
    this.index.remove(id, this.#entries.get(id)?.postings ?? NO_POSTINGS)
    this.#entries.delete(id)
    this.#notified.delete(id)
    this.#hidden.delete(id)
    this.owners.set(id, null)
  }

  /** It must look at its relatives, at once. */
  notify(id: ContextId): void {
    const wasWokenAt = this.#wakeAt(id)
    this.#notified.add(id)
    this.#hidden.delete(id)
    this.#wake(id, wasWokenAt)
  }

  clearNotification(id: ContextId): void {
    const wasWokenAt = this.#wakeAt(id)
    this.#notified.delete(id)
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

  claimDue({ now, limit, hideFor }: { now: number; limit: number; hideFor: number }): {
    ids: ContextId[]
    next: number | null
  } {
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

  /** Contexts that finished before that time, the earliest first. They stay known until they are removed. */
  *endedBefore(time: number): Generator<readonly [ContextId, Entry]> {
    const seen = new Map<ContextId, number>()
    try {
      for (let top = this.#ends.peek(); top !== null && top.time < time; top = this.#ends.peek()) {
        this.#ends.pop()
        const entry = this.#entries.get(top.id)
        if (entry === undefined || seen.has(top.id)) continue
        seen.set(top.id, top.time)
        yield [top.id, entry]
      }
    } finally {
      for (const [id, endedAt] of seen) this.#ends.push(id, endedAt)
    }
  }

  /** Those who may be due before that time; null: too many. Claims and notifications hide when one is due. */
  #dueBefore(time: number): Set<ContextId> | null {
    const found = this.#wakeUps.between(-Infinity, time, MOST_TIMED)
    if (found === null || found.size + this.#hidden.size + this.#notified.size > 2 * MOST_TIMED) return null
    for (const id of this.#hidden.keys()) found.add(id)
    for (const id of this.#notified) found.add(id)
    return found
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
