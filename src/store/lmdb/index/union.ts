// store/lmdb: walks upwards through several sets of ids as if they were one.
import type { ContextId } from '../../../model/context.ts'
import type { Cursor } from './id-set.ts'

export interface Ascent {
  readonly id: ContextId | undefined
  next(): void
  skip(count: number): void
}

/** The ids that any of the cursors has, each once. */
export class Union implements Ascent {
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
