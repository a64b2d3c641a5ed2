// engine/idempotency: calls under a key have their effect once. What was answered is written in the commit of the
// effect, under a guard, so the first call needs no read; a repeat is noticed by the guard, or before it is refused.
import { randomUUID } from 'node:crypto'
import type { AnswerKind } from '../../api/call.ts'
import { FluxError, overloaded } from '../../model/failure.ts'
import type { ContextId } from '../../model/context.ts'
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import { markReplayed } from '../../api/replayed.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken } from '../message.ts'
import { countRepeat } from './repeats.ts'
import { findKept, keptInstead } from './kept-row.ts'
import { contentHashOf, readKept, rowKeyOf, type ScopedKey } from './kept-answer.ts'

export interface IdempotencyParts {
  readonly store: Store
  readonly clock: Clock
  /** Milliseconds for which answers are kept. */
  readonly kept: number
  /** Answers kept at once, and contexts moved by events under a key. */
  readonly max: number
}

/** A call under a key, whose effect is in one partition. */
export interface KeyedCall<A> extends ScopedKey {
  readonly of: AnswerKind<A>
  /** What is asked for, without the key. */
  readonly content: object
  /** The name of the event, if it is one: its receipt has it, and how often it was repeated. */
  readonly event?: string
  /** The partition of its effect; left out: that of its key; null: only the effect tells. */
  readonly partition?: number | null | undefined
  /** A repeat may come to another partition, where no guard meets it: an earlier answer is looked for first. */
  readonly looksFirst?: boolean
}

/** What the commit of the effect must write, with the answer that it leads to. */
export interface Keeping {
  /** That of the call, or of its key. */
  readonly partition: number
  /** The row, for the commit of that context. */
  readonly rowOf: (answer: object, id: ContextId) => RowWrite
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
  async once<A extends object>(call: KeyedCall<A>, run: (keeping: Keeping) => Promise<A>): Promise<A> {
    const key = rowKeyOf(call)
    const hash = contentHashOf(call.content)
    const release = this.hold(key, hash)
    try {
      return await this.#run(call, { key, hash }, run)
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

  /** A repeat is answered also where it can't be counted. */
  async noteRepeat({ partition, key, at }: { partition: number; key: string; at: number }): Promise<void> {
    const { store, kept } = this.#parts
    try {
      await countRepeat(store, { partition, key, expiresAt: at + kept })
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

  async #run<A extends object>(
    { of, event, partition: given, looksFirst = false }: KeyedCall<A>,
    { key, hash }: { readonly key: string; readonly hash: string },
    run: (keeping: Keeping) => Promise<A>,
  ): Promise<A> {
    const { store, clock, kept } = this.#parts
    const partition = given ?? partitionOf(key, store.partitions)
    const written = { value: '', partition }
    const rowOf = (answer: object, id: ContextId): RowWrite => {
      const at = clock.now()
      // Told apart from the row of another server, which may have answered the same in the same millisecond.
      written.value = JSON.stringify({ hash, at, by: randomUUID(), event, answer })
      written.partition = id % store.partitions
      return { ...written, space: 'idempotency', key, expects: null, expiresAt: at + kept }
    }
    const find = () => (given === null ? findKept(store, key) : store.readRow({ partition, space: 'idempotency', key }))
    try {
      // Without a promise, so that the call keeps its place among others.
      if (this.isFull()) await this.requireRoom()
      if (looksFirst && store.partitions > 1) {
        const row = await findKept(store, key)
        written.partition = row?.partition ?? partition
        if (row) throw new RowTaken({ space: 'idempotency', key, value: row.value })
      }
      return await run({ partition, rowOf })
    } catch (error) {
      const row = await keptInstead(error, { key, partition: written.partition, find })
      if (row === null) throw error
      const earlier = readKept(row.value)
      if (earlier.hash !== hash) throw mismatch()
      // The first is a broadcast under way: the content tells them apart.
      if (earlier.answer === null) throw inProgress()
      const answer = of.answer.parse(earlier.answer)
      // Its own row: the reply to the commit was lost, and the commit was tried again.
      if (row.value === written.value) return answer
      if (event !== undefined) await this.noteRepeat({ partition: row.partition, key, at: earlier.at })
      return markReplayed(answer)
    }
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

export const inProgress = () =>
  new FluxError({
    kind: 'idempotencyInProgress',
    detail: 'the first request under this key is still under way',
    retryAfter: 1,
  })

export const mismatch = () =>
  new FluxError({ kind: 'idempotencyMismatch', detail: 'the key was used for a request with another content' })
