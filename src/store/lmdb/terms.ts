// store/lmdb: the inverted index, from a word to the contexts that have it.
import type { ContextId } from '../../model/context.ts'
import type { ListQuery, Page } from '../../ports/store.ts'
import { type Cursor, IdSet } from './id-set.ts'

/** A word and who has it. Contexts refer to these, so that each word is in memory once. */
export interface Posting {
  readonly word: string
  readonly ids: IdSet
}

export class Terms {
  readonly #postings = new Map<string, Posting>()
  readonly #everyone = new IdSet()

  /** Number of words that anyone has. */
  get size(): number {
    return this.#postings.size
  }

  add(id: ContextId): void {
    this.#everyone.add(id)
  }

  remove(id: ContextId, postings: readonly Posting[]): void {
    this.replace(id, postings, [])
    this.#everyone.delete(id)
  }

  /** Gives a context these words instead of those it had. */
  replace(id: ContextId, before: readonly Posting[], words: readonly string[]): readonly Posting[] {
    if (before.length === words.length && before.every(({ word }, index) => word === words[index])) return before
    // `map` makes a list of just the length that is needed: there is one for each context.
    const after = [...new Set(words)].map((word) => this.#posting(word))
    for (const posting of after) posting.ids.add(id)
    const kept = new Set(after)
    for (const posting of before) {
      if (kept.has(posting)) continue
      posting.ids.delete(id)
      if (posting.ids.size === 0) this.#postings.delete(posting.word)
    }
    return after
  }

  all({ all, without, limit, after = 0, skip = 0 }: ListQuery): ContextId[] {
    const sets = this.#sets(all)
    if (sets.length < new Set(all).size) return []
    const [lead, ...others] = sets.sort((a, b) => a.size - b.size).map((ids) => ids.above(after))
    const found = lead === undefined ? this.#everyone.above(after) : new Intersection(lead, others)
    const [excluded] = without === undefined ? [] : this.#sets([without])
    return page(excluded === undefined ? found : new Difference(found, excluded.above(after)), limit, skip)
  }

  /** Who has any of the words, ascending, up to and including `upTo`. */
  any(words: readonly string[], upTo: ContextId, { limit, after = 0, skip = 0 }: Page): ContextId[] {
    const [first, ...others] = this.#sets(words).map((ids) => ids.above(after))
    if (first === undefined) return []
    return page(others.length === 0 ? first : new Union([first, ...others]), limit, skip, upTo)
  }

  #sets(words: readonly string[]): IdSet[] {
    return Array.from(new Set(words), (word) => this.#postings.get(word)?.ids).filter((ids) => ids !== undefined)
  }

  #posting(word: string): Posting {
    const known = this.#postings.get(word)
    if (known !== undefined) return known
    const posting = { word, ids: new IdSet() }
    this.#postings.set(word, posting)
    return posting
  }
}

interface Walk {
  readonly id: ContextId | undefined
  next(): void
  skip(count: number): void
}

function page(walk: Walk, limit: number, skip: number, upTo = Infinity): ContextId[] {
  const ids: ContextId[] = []
  if (skip > 0) walk.skip(skip)
  for (let id = walk.id; id !== undefined && id <= upTo && ids.length < limit; id = walk.id) {
    ids.push(id)
    walk.next()
  }
  return ids
}

/** The ids that all cursors share: whoever is ahead tells the others how far to leap. */
class Intersection implements Walk {
  readonly #lead: Cursor
  readonly #others: readonly Cursor[]

  constructor(lead: Cursor, others: readonly Cursor[]) {
    this.#lead = lead
    this.#others = others
    this.#agree()
  }

  get id(): ContextId | undefined {
    return this.#lead.id
  }

  next(): void {
    this.#lead.next()
    this.#agree()
  }

  skip(count: number): void {
    if (this.#others.length === 0) this.#lead.skip(count)
    else for (let left = count; left > 0 && this.id !== undefined; left--) this.next()
  }

  #agree(): void {
    for (let id = this.#lead.id, agreed = 0; id !== undefined && agreed < this.#others.length;) {
      const other = this.#others[agreed]
      other?.seek(id)
      if (other?.id === id) agreed++
      else {
        this.#lead.seek(other?.id ?? Infinity)
        id = this.#lead.id
        agreed = 0
      }
    }
  }
}

/** The ids that the walk has and the cursor has not. */
class Difference implements Walk {
  readonly #walk: Walk
  readonly #excluded: Cursor

  constructor(walk: Walk, excluded: Cursor) {
    this.#walk = walk
    this.#excluded = excluded
    this.#pass()
  }

  get id(): ContextId | undefined {
    return this.#walk.id
  }

  next(): void {
    this.#walk.next()
    this.#pass()
  }

  skip(count: number): void {
    for (let left = count; left > 0 && this.id !== undefined; left--) this.next()
  }

  #pass(): void {
    for (let { id } = this.#walk; id !== undefined; id = this.#walk.id) {
      this.#excluded.seek(id)
      if (this.#excluded.id !== id) return
      this.#walk.next()
    }
  }
}

/** The ids that any of the cursors has, each once. */
class Union implements Walk {
  readonly #cursors: readonly Cursor[]
  id: ContextId | undefined

  constructor(cursors: readonly Cursor[]) {
    this.#cursors = cursors
    this.id = this.#lowest()
  }

  next(): void {
    for (const cursor of this.#cursors) if (cursor.id === this.id) cursor.next()
    this.id = this.#lowest()
  }

  skip(count: number): void {
    for (let left = count; left > 0 && this.id !== undefined; left--) this.next()
  }

  #lowest(): ContextId | undefined {
    let lowest = Infinity
    for (const { id } of this.#cursors) if (id !== undefined && id < lowest) lowest = id
    return lowest === Infinity ? undefined : lowest
  }
}
