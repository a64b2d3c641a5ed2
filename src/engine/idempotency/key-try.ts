// engine/idempotency: one try of a call under a key: the row that is written in the commit of its effect, and the row
// that is there instead, where the call was answered before.
import { randomUUID } from 'node:crypto'
import { FluxError } from '../../model/failure.ts'
import type { RowWrite } from '../../model/rows.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken, type Preparation } from '../turn/message.ts'
import type { KeptPlace, KeptRow } from './kept-answer.ts'

/** What the commit of the effect must write, with the answer that it leads to. */
export interface Keeping {
  /** That of the effect. */
  readonly partition: number
  readonly rowOf: (answer: object) => RowWrite
  /** What comes before that commit; left out: nothing. */
  readonly first?: Preparation | undefined
}

export interface TryParts {
  readonly store: Store
  readonly clock: Clock
  readonly place: KeptPlace
  /** Of the content. */
  readonly hash: string
  /** Milliseconds for which the answer is kept. */
  readonly kept: number
}

export class KeyTry implements Keeping {
  readonly partition: number
  readonly #parts: TryParts
  /** What its row has besides. */
  readonly #more: object
  #written = ''

  constructor(parts: TryParts, more: object = {}) {
    this.#parts = parts
    this.#more = more
    this.partition = parts.place.partition
  }

  readonly rowOf = (answer: object): RowWrite => {
    const { clock, place, hash, kept } = this.#parts
    const at = clock.now()
    // Told apart from the row of another server, which may have answered the same in the same millisecond.
    this.#written = JSON.stringify({ hash, at, by: randomUUID(), ...this.#more, answer })
    return { ...place, expects: null, value: this.#written, expiresAt: at + kept }
  }

  /**
   * What the effect comes to, or else what `earlier` makes of the row that is there instead. `isOwn`: this try has written
   * it: the reply to the commit was lost, and the commit was tried again.
   * @throws whatever the effect throws, if nothing was answered before
   */
  async run<A>(effect: () => Promise<A>, earlier: (row: KeptRow, isOwn: boolean) => A | Promise<A>): Promise<A> {
    try {
      return await effect()
    } catch (error) {
      const row = await this.#keptInstead(error)
      if (row === null) throw error
      return earlier(row, row.value === this.#written)
    }
  }

  /** What was answered before, if that may be returned instead of the error; null: nothing was. */
  async #keptInstead(error: unknown): Promise<KeptRow | null> {
    const { store, place } = this.#parts
    if (error instanceof RowTaken) {
      const { space, key, value } = error
      return space === place.space && key === place.key && value !== null ? { ...place, value } : null
    }
    if (!(error instanceof FluxError) || DENIALS.has(error.failure.kind)) return null
    try {
      return await store.readRow(place)
    } catch {
      // The error itself says more.
      return null
    }
  }
}

/** Who may not make the call does not learn what it once led to. */
const DENIALS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden'])
