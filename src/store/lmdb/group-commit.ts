// store/lmdb: group commit: many requests share one flush. While a group is being written, the requests for the next
// one gather. They are decided only when the group before is durable and visible, or has failed, so a decision never
// rests on data that may still be lost.
//
// - A commit writes what changed. A small context is one record (`stored-context.ts`): facts at fixed offsets, from
//   which the index is rebuilt, its index keys, and the texts of its parts. A part of 2 KB or more is a row of its own,
//   written when it changes; the record says which version of the context wrote it, so a row that is lost, or older, is
//   noticed.
import { FluxError, inDoubt, unavailable } from '../../model/failure.ts'

export interface Group {
  /**
   * Whether the group is large enough: the other requests wait for the next one, and the event loop serves others in
   * between.
   */
  readonly full: boolean
  /**
   * Writes all decisions or nothing. Resolves when they are durable. A FluxError is passed to the callers unchanged.
   */
  write(): Promise<void>
  /** Makes the decisions visible. An error: they are durable all the same. */
  adopt(): void
}

/** A request that is decided, and will be answered when its group is durable. */
interface Decided {
  readonly answer: () => void
  readonly reject: (error: unknown) => void
}

export class GroupCommit<G extends Group> {
  readonly #begin: () => G
  /** Requests that wait. Each decides itself, and adds itself to the decided ones, or is rejected. */
  #waiting: ((group: G, decided: Decided[]) => void)[] = []
  #writing: { readonly group: G; readonly done: Promise<void> } | null = null
  /** Whether a group is being written, or will be in the next turn of the event loop. */
  #isRunning = false
  /** Called when there is nothing left to write. */
  #onIdle: (() => void) | null = null
  #closed = false

  constructor(begin: () => G) {
    this.#begin = begin
  }

  /**
   * Resolves with the decision when its group is durable. A decision that throws rejects only its own request, and must
   * leave the group unchanged.
   * @throws FluxError `unavailable` when the group cannot be written, or the store is closed
   */
  run<T>(decide: (group: G) => T): Promise<T> {
    if (this.#closed) return Promise.reject(unavailable('the server is stopping'))
    return new Promise((resolve, reject) => {
      this.#waiting.push((group, decided) => {
        try {
          const decision = decide(group)
          decided.push({ answer: () => resolve(decision), reject })
        } catch (error) {
          reject(error)
        }
      })
      if (!this.#isRunning) this.#writeSoon()
    })
  }

  /**
   * Resolves when no group is being written that concerns the caller. Until then, its data may be on the disk already,
   * but is neither durable nor in memory: a caller that read it would be ahead of the rest of the store.
   */
  async settled(concerns: (group: G) => boolean): Promise<void> {
    while (this.#writing !== null && concerns(this.#writing.group)) await this.#writing.done
  }

  /** Accepts no more requests; resolves when those that were accepted are answered. */
  close(): Promise<void> {
    this.#closed = true
    return new Promise((resolve) => {
      this.#onIdle = resolve
      if (!this.#isRunning) resolve()
    })
  }

  /**
   * Writes a group in the next turn of the event loop, so that it includes the other requests of this turn, and those
   * that callers make when the group before is answered.
   */
  #writeSoon(): void {
    this.#isRunning = true
    setImmediate(() => this.#writeNext())
  }

  #writeNext(): void {
    if (this.#waiting.length === 0) {
      this.#isRunning = false
      this.#onIdle?.()
      return
    }
    const group = this.#begin()
    const decided: Decided[] = []
    let count = 0
    while (count < this.#waiting.length && !group.full) this.#waiting[count++]?.(group, decided)
    this.#waiting = this.#waiting.slice(count)
    // Not an async function: it would cost a promise, and so would each await.
    const done = group.write().then(
      () => this.#end(group, decided, null),
      (cause: unknown) =>
        this.#end(
          group,
          decided,
          cause instanceof FluxError ? cause : unavailable('the store can not write at present', { cause }),
        ),
    )
    this.#writing = { group, done }
  }

  /** The group is durable, or has failed. The callers that are answered run before the next one, as microtasks. */
  #end(group: G, decided: readonly Decided[], failure: FluxError | null): void {
    let error = failure
    try {
      if (error === null) {
        group.adopt()
        for (const { answer } of decided) answer()
      }
    } catch (cause) {
      error = inDoubt('the store has written this, and then failed', { cause })
    }
    if (error !== null) for (const { reject } of decided) reject(error)
    this.#writing = null
    this.#writeSoon()
  }
}
