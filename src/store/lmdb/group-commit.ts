// store/lmdb: many requests, one flush. While a group is being written the next one gathers; it is decided only when
// the one before is on disk and in memory, or has failed, so a decision never rests on something that may yet be lost.
import { FluxError, unavailable } from '../../model/failure.ts'

export interface Group {
  /** It is large enough: what else waits is for the next one, and others are served in between. */
  readonly full: boolean
  /**
   * Writes what was decided, all or nothing. Resolves when it is durable. A FluxError that it throws is told as it is.
   */
  write(): Promise<void>
  /** Makes it visible. */
  adopt(): void
}

/** A request, from when it is made until it is answered. */
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

  /** Whether it was decided. A decision that throws is the request's answer. */
  decide(group: G): boolean {
    try {
      this.#decision = { value: this.#decide(group) }
      return true
    } catch (error) {
      this.reject(error)
      return false
    }
  }

  /** Tells the decision, which is durable by now. */
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
  /** To be called when there is nothing left to write. */
  #onIdle: (() => void) | null = null
  #closed = false

  constructor(begin: () => G) {
    this.#begin = begin
  }

  /**
   * Resolves with the decision when its group is durable. A decision that throws fails alone, and must leave the group
   * as it was.
   * @throws FluxError `unavailable` when the group can't be written, or the store is closed
   */
  run<T>(decide: (group: G) => T): Promise<T> {
    if (this.#closed) return Promise.reject(unavailable('the server is stopping'))
    return new Promise((resolve, reject) => {
      this.#waiting.push(new Request<G, T>(decide, resolve, reject))
      if (!this.#isRunning) this.#writeSoon()
    })
  }

  /** Whether any group is being written. */
  get isWriting(): boolean {
    return this.#writing !== null
  }

  /**
   * Resolves when no group is being written that concerns the caller, with whether there was one. What lies on the disk
   * already is until then neither durable nor in memory: who read it would know more than the rest of the store.
   */
  async settled(concerns: (group: G) => boolean): Promise<boolean> {
    let waited = false
    while (this.#writing !== null && concerns(this.#writing.group)) {
      waited = true
      await this.#writing.done
    }
    return waited
  }

  /** Takes no more requests; resolves when those taken are answered. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isRunning)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
  }

  /** What else comes in this turn of the event loop, and what the callers of the group before do next, comes along. */
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
    // Not awaited: each async function costs a promise, and so does each await.
    const done = group.write().then(
      () => this.#finish(group, decided),
      (error: unknown) => this.#fail(decided, error),
    )
    this.#writing = { group, done }
  }

  /** Gives the requests that are to be answered once the group is durable. */
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

  /** The group is durable. */
  #finish(group: G, decided: readonly AnyRequest<G>[]): void {
    try {
      group.adopt()
      for (const request of decided) request.answer()
    } catch (error) {
      this.#reject(decided, error)
    }
    this.#goOn()
  }

  #fail(decided: readonly AnyRequest<G>[], error: unknown): void {
    this.#reject(decided, error)
    this.#goOn()
  }

  #reject(decided: readonly AnyRequest<G>[], error: unknown): void {
    const isTold = error instanceof FluxError
    const failure = isTold ? error : unavailable('the store can not write at present', { cause: error })
    for (const { reject } of decided) reject(failure)
  }

  /** The answers run as microtasks, after this. */
  #goOn(): void {
    this.#writing = null
    this.#writeSoon()
  }
}
