// store/lmdb: a key and who has it. Many keys are one context's alone: such a posting holds a number and no set.
import type { ContextId } from '../../../model/context.ts'
import { IdSet } from './id-set.ts'

const NOBODY: ContextId = 0

export class Posting {
  readonly key: string
  /** The only context that has it, `NOBODY`, or all who have it once there were two. */
  #ids: ContextId | IdSet = NOBODY

  constructor(key: string) {
    this.key = key
  }

  get size(): number {
    const ids = this.#ids
    if (typeof ids !== 'number') return ids.size
    return ids === NOBODY ? 0 : 1
  }

  add(id: ContextId): void {
    const ids = this.#ids
    if (typeof ids !== 'number') ids.add(id)
    else if (ids === NOBODY) this.#ids = id
    else if (ids !== id) {
      const set = new IdSet()
      set.add(ids)
      set.add(id)
      this.#ids = set
    }
  }

  delete(id: ContextId): void {
    const ids = this.#ids
    if (typeof ids !== 'number') ids.delete(id)
    else if (ids === id) this.#ids = NOBODY
  }

  /** The ids, ascending, in chunks that aren't to be changed. */
  get chunks(): readonly (readonly number[])[] {
    const ids = this.#ids
    if (typeof ids !== 'number') return ids.chunks
    return ids === NOBODY ? [] : [[ids]]
  }
}
