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
  /** Makes the decisions visible, all that it can of them. An error: they are durable all the same. */
  adopt(): void
}

/** A request that waits to be decided or answered. */
class Request<G, T> {
  readonly #decide: (group: G) => T
  readonly #resolve: (decision: T) => void
  readonly reject: (error: unknown) => void
  #decision: { readonly value: T } | null = null

  constructor(decide: (group: G) => T, resolve: (decision: T) => void, reject: (error: unknown) => void) {
    this.#decide = decide
    this.#resolve = resolve
    this.reject = reject
  }

  /** Decides the request; true on success. If `decide` throws, the request is rejected with that error. */
  decide(group: G): boolean {
    try {
      this.#decision = { value: this.#decide(group) }
      return true
    } catch (error) {
      this.reject(error)
      return false
    }
  }

  /** Resolves the request with its decision, which is durable now. */
  answer(): void {
    if (this.#decision !== null) this.#resolve(this.#decision.value)
  }
}

type AnyRequest<G> = Pick<Request<G, never>, 'decide' | 'answer' | 'reject'>

export class GroupCommit<G extends Group> {
  readonly #begin: () => G
  #waiting: AnyRequest<G>[] = []
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
      this.#waiting.push(new Request<G, T>(decide, resolve, reject))
      if (!this.#isRunning) this.#writeSoon()
    })
  }

  /** Whether a group is being written. */
  get isWriting(): boolean {
    return this.#writing !== null
  }

  /**
   * Resolves when no group is being written that concerns the caller, with whether there was one. Until then, its data
   * may be on the disk already, but is neither durable nor in memory: a caller that read it would be ahead of the rest
   * of the store.
   */
  async settled(concerns: (group: G) => boolean): Promise<boolean> {
    let waited = false
    while (this.#writing !== null && concerns(this.#writing.group)) {
      waited = true
      await this.#writing.done
    }
    return waited
  }

  /** Accepts no more requests; resolves when those that were accepted are answered. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isRunning)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
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
    const decided = this.#decide(group)
    // Not an async function: it would cost a promise, and so would each await.
    const done = group.write().then(
      () => this.#finish(group, decided),
      (error: unknown) => this.#fail(decided, error),
    )
    this.#writing = { group, done }
  }

  /** Decides the waiting requests until the group is full; returns those to answer once it is durable. */
  #decide(group: G): readonly AnyRequest<G>[] {
    const requests = this.#waiting
    const decided: AnyRequest<G>[] = []
    let count = 0
    for (; count < requests.length && !group.full; count++) {
      const request = requests[count]
      if (request?.decide(group) === true) decided.push(request)
    }
    this.#waiting = requests.slice(count)
    return decided
  }

  /** Called when the group is durable. */
  #finish(group: G, decided: readonly AnyRequest<G>[]): void {
    try {
      group.adopt()
      for (const request of decided) request.answer()
    } catch (error) {
      this.#reject(decided, inDoubt('the store has written this, and then failed', { cause: error }))
    }
    this.#next()
  }

  #fail(decided: readonly AnyRequest<G>[], error: unknown): void {
    this.#reject(decided, error)
    this.#next()
  }

  #reject(decided: readonly AnyRequest<G>[], error: unknown): void {
    const isFailure = error instanceof FluxError
    const failure = isFailure ? error : unavailable('the store can not write at present', { cause: error })
    for (const { reject } of decided) reject(failure)
  }

  /** Begins the next group. The callers that were answered run before it, as microtasks. */
  #next(): void {
    this.#writing = null
    this.#writeSoon()
  }
}
