// engine/idempotency: one try of a call under a key: the row that is written in the commit of its effect, and the row
// that is there instead, where the call was answered before.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Preparation } from '../message.ts'
import { KeyClaim, type ClaimParts } from './key-claim.ts'
import { isRefusal, keptInstead, type KeptRow } from './kept-row.ts'

/** What the commit of the effect must write, with the answer that it leads to. */
export interface Keeping {
  /** That of its key: an effect there costs no other commit. */
  readonly partition: number
  /** The row, for the commit of that context. */
  readonly rowOf: (answer: object, id: ContextId) => RowWrite
  /** What comes before that commit; undefined: nothing, since there is one partition. */
  readonly first: Preparation | undefined
}

export class KeyTry implements Keeping {
  readonly partition: number
  readonly first: KeyClaim | undefined
  readonly #parts: ClaimParts
  /** What its row has besides. */
  readonly #more: object
  #written = ''

  constructor(parts: ClaimParts, more: object = {}) {
    const { store, key } = parts
    this.#parts = parts
    this.#more = more
    this.partition = partitionOf(key, store.partitions)
    this.first = store.partitions > 1 ? new KeyClaim(parts) : undefined
  }

  readonly rowOf = (answer: object, id: ContextId): RowWrite => {
    const { store, clock, key, hash, kept } = this.#parts
    const at = clock.now()
    // Told apart from the row of another server, which may have answered the same in the same millisecond.
    this.#written = JSON.stringify({ hash, at, by: randomUUID(), ...this.#more, answer })
    const expects = this.first?.expected ?? null
    const partition = id % store.partitions
    return { partition, space: 'idempotency', key, expects, value: this.#written, expiresAt: at + kept }
  }

  /** Whether this try has written it: the reply to the commit was lost, and the commit was tried again. */
  isOwn({ value }: KeptRow): boolean {
    return value === this.#written
  }

  /**
   * What was answered before, if that may be returned instead of the error; null: nothing was. Then the key is given back,
   * where it is known that there was no effect.
   */
  async keptInstead(error: unknown): Promise<KeptRow | null> {
    const { store, key } = this.#parts
    const row = await keptInstead(error, { store, key, foundIn: this.first?.foundIn ?? 0 })
    return row ?? (isRefusal(error) ? this.release() : null)
  }

  /** Gives the key back, since there is no effect. Gives the row of another call that had it. */
  async release(): Promise<KeptRow | null> {
    if (this.first === undefined) return null
    const value = await this.first.release()
    return value === null ? null : { key: this.#parts.key, value, partition: this.first.foundIn }
  }
}
