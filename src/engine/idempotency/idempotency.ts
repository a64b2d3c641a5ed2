// engine/idempotency: calls under a key have their effect once. What was answered is written in the commit of the
// effect, in the partition of what the call is addressed to, under a guard, so the first call needs no read; a repeat is
// noticed by the guard, or before it is refused.
import type { AnswerKind } from '../../api/call.ts'
import { overloaded } from '../../model/failure.ts'
import type { Told } from '../../api/calls.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import type { Preparation } from '../turn/message.ts'
import { countRepeat } from './repeats.ts'
import { contentHashOf } from './content-hash.ts'
import { KeyTry, type Keeping, type TryParts } from './key-try.ts'
import {
  inProgress,
  mismatch,
  placeOf,
  placeOfEvent,
  readKept,
  rowKeyOf,
  type Addressee,
  type ScopedKey,
} from './kept-answer.ts'

export interface IdempotencyParts {
  readonly store: Store
  readonly clock: Clock
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  /** Answers kept at once, and contexts moved by events under a key. */
  readonly max: number
}

/** A call under a key, whose effect is in the partition of its addressee. */
export interface KeyedCall<A> extends ScopedKey {
  readonly of: AnswerKind<A>
  readonly addressee: Addressee
  /** What is asked for, without the key. */
  readonly content: object
  /** The name of the event, if it is one: its receipt has it, and how often it was repeated. */
  readonly event?: string
}

/** Milliseconds for which the number of rows is remembered. */
const COUNT_MS = 1000

export class Idempotency {
  readonly #parts: IdempotencyParts
  /** Calls under way here: the hash of each one's content, by the key of its row. */
  readonly #underWay = new Map<string, string>()
  #counted = { rows: 0, at: -Infinity }
  /** Rows that may have been written since they were counted. */
  #added = 0
  #counting: Promise<void> = Promise.resolve()

  constructor(parts: IdempotencyParts) {
    this.#parts = parts
  }

  /**
   * Runs the call, unless it was answered before: then gives that answer.
   * @param run must write the row in the commit of the effect, and let `RowTaken` through
   * @throws FluxError `idempotencyMismatch` when the key was used for another content, `idempotencyInProgress` while the
   * first call is under way here, `overloaded` when as many keys are kept as may be; whatever `run` throws, if there is
   * no earlier answer
   */
  async once<A extends object>(call: KeyedCall<A>, run: (keeping: Keeping) => Promise<A>): Promise<Told<A>> {
    const rowKey = rowKeyOf(call)
    const { addressee, event } = call
    const isEvent = event !== undefined && addressee !== null
    const { partitions } = this.#parts.store
    const place = isEvent ? placeOfEvent(rowKey, addressee, partitions) : placeOf(rowKey, addressee, partitions)
    const hash = contentHashOf(call.content)
    const release = this.hold(place.key, hash)
    try {
      return await this.#run(call, { rowKey, place, hash }, run)
    } finally {
      release()
    }
  }

  /**
   * Notes that a call is under way here, until the returned function is called. @throws FluxError `idempotencyMismatch`,
   * `idempotencyInProgress`
   */
  hold(key: string, hash: string): () => void {
    const running = this.#underWay.get(key)
    if (running !== undefined) throw running === hash ? inProgress() : mismatch()
    this.#underWay.set(key, hash)
    return () => void this.#underWay.delete(key)
  }

  /** Of the event of that row key. A repeat is answered also where it can't be counted. */
  async noteRepeat(rowKey: string, at: number): Promise<void> {
    const { store, kept } = this.#parts
    try {
      await countRepeat(store, rowKey, at + kept)
    } catch {
      // The store is out of reach.
    }
  }

  /** Whether that call is under way here. */
  isHeld(key: string): boolean {
    return this.#underWay.has(key)
  }

  /** @throws FluxError `overloaded` when as many keys are kept as may be */
  async requireRoom(): Promise<void> {
    await this.#counting
    if (this.#counted.rows + this.#added > this.#parts.max)
      throw overloaded('as many idempotency keys are kept as may be')
  }

  #run<A extends object>(
    { of, event }: KeyedCall<A>,
    { rowKey, place, hash }: Pick<TryParts, 'place' | 'hash'> & { readonly rowKey: string },
    run: (keeping: Keeping) => Promise<A>,
  ): Promise<Told<A>> {
    const tried = this.tryOf({ place, hash }, { event })
    return tried.run(
      async (): Promise<Told<A>> => ({ answer: await run(this.isFull() ? this.#afterCount(tried) : tried) }),
      async ({ value }, isOwn) => {
        const earlier = readKept(value)
        if (earlier.hash !== hash) throw mismatch()
        // The first is a broadcast under way: the content distinguishes them.
        if (earlier.answer === null) throw inProgress()
        const answer = of.answer.parse(earlier.answer)
        if (isOwn) return { answer }
        if (event !== undefined) await this.noteRepeat(rowKey, earlier.at)
        return { answer, replayed: true }
      },
    )
  }

  /** There must be room before the commit. The call waits for that in its mailbox, so that it keeps its place there. */
  #afterCount({ partition, rowOf }: KeyTry): Keeping {
    let isCounted = false
    const first: Preparation = () => (isCounted ? null : this.requireRoom().then(() => void (isCounted = true)))
    return { partition, rowOf, first }
  }

  /** One try of a call; `more`: what its row has besides. */
  tryOf(
    {
      kept = this.#parts.kept,
      place,
      hash,
    }: Omit<TryParts, 'store' | 'clock' | 'kept'> & Partial<Pick<TryParts, 'kept'>>,
    more?: object,
  ): KeyTry {
    const { store, clock } = this.#parts
    return new KeyTry({ store, clock, place, hash, kept }, more)
  }

  /**
   * Whether there may be no room for another key; counts it. Awaits nothing, so that calls keep their order: the number
   * is that of the last second.
   */
  isFull(): boolean {
    const { clock, max } = this.#parts
    const now = clock.now()
    if (Math.abs(now - this.#counted.at) >= COUNT_MS) {
      this.#counted.at = now
      this.#counting = this.#count()
    }
    this.#added += 1
    return this.#counted.rows + this.#added > max
  }

  async #count(): Promise<void> {
    const { store } = this.#parts
    const before = this.#added
    try {
      const counts = await Promise.all([store.countRows({ space: 'idempotency' }), store.countRows({ space: 'items' })])
      this.#counted.rows = counts[0] + counts[1]
      this.#added -= before
    } catch {
      // The store is out of reach, which the call itself finds out.
    }
  }
}
