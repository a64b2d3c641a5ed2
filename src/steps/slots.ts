// steps: who may start. So many steps of each kind run at once; of others a bounded number of ids is remembered, in
// order. It is the one bound on steps in memory: whatever has no slot holds no lease and no data.
import type { ContextId } from '../model/context.ts'
import type { StepKind, StepSlots } from '../ports/step-slots.ts'

/** Ids remembered of each kind. What does not fit is found in the store. */
const MAX_WAITING = 10_000
/** Places at the front of a list that may be empty before it is moved up, once they are half of it. */
const MIN_EMPTY = 1_000

export interface SlotsOptions {
  /** Functions at once that run in this process. */
  readonly code: number
  /** Functions at once that run in processes of their own. */
  readonly isolated: number
  /** Scripts at once, running or queued for a process, and the same of those that are known to be slow. */
  readonly script?: number
  readonly slowScript?: number
  readonly maxWaiting?: number
}

/**
 * Scripts that may be queued for a process, or have one: a script takes a few milliseconds, and a process must not wait
 * for the store between two of them. Of slow ones it does not matter.
 */
const SCRIPTS = { script: 64, slowScript: 16 }

interface Lane {
  readonly slots: number
  taken: number
  readonly waiting: IdQueue
}

export class Slots implements StepSlots {
  readonly #lanes: { readonly [kind in StepKind]: Lane }
  readonly #maxWaiting: number
  #onFree: (kind: StepKind) => void = () => {}
  #isClosed = false

  constructor({ maxWaiting = MAX_WAITING, ...slots }: SlotsOptions) {
    this.#maxWaiting = maxWaiting
    this.#lanes = {
      code: laneOf(slots.code),
      isolated: laneOf(slots.isolated),
      script: laneOf(slots.script ?? SCRIPTS.script),
      slowScript: laneOf(slots.slowScript ?? SCRIPTS.slowScript),
    }
  }

  tryTake(kind: StepKind): boolean {
    const lane = this.#lanes[kind]
    if (this.#isClosed || lane.taken >= lane.slots) return false
    lane.taken += 1
    return true
  }

  release(kind: StepKind): void {
    this.#lanes[kind].taken -= 1
    this.#onFree(kind)
  }

  free(kind: StepKind): number {
    const { slots, taken } = this.#lanes[kind]
    return this.#isClosed ? 0 : slots - taken
  }

  wait(kind: StepKind, id: ContextId): boolean {
    if (this.#isClosed || this.#lanes[kind].waiting.size >= this.#maxWaiting) return false
    this.waitLast(kind, id)
    return true
  }

  waitLast(kind: StepKind, id: ContextId): void {
    if (!this.#isClosed) this.#lanes[kind].waiting.push(id)
  }

  waitFirst(kind: StepKind, id: ContextId): void {
    if (!this.#isClosed) this.#lanes[kind].waiting.unshift(id)
  }

  next(kind: StepKind): ContextId | null {
    const { waiting } = this.#lanes[kind]
    if (waiting.size === 0 || !this.tryTake(kind)) return null
    return waiting.shift()
  }

  onFree(listener: (kind: StepKind) => void): void {
    this.#onFree = listener
  }

  close(): void {
    this.#isClosed = true
    for (const { waiting } of Object.values(this.#lanes)) waiting.clear()
  }
}

const laneOf = (slots: number): Lane => ({ slots, taken: 0, waiting: new IdQueue() })

/** First in, first out; each end takes constant time. */
class IdQueue {
  #ids: ContextId[] = []
  /** Places before the first id. */
  #empty = 0

  get size(): number {
    return this.#ids.length - this.#empty
  }

  push(id: ContextId): void {
    this.#ids.push(id)
  }

  unshift(id: ContextId): void {
    if (this.#empty === 0) this.#ids.unshift(id)
    else this.#ids[(this.#empty -= 1)] = id
  }

  shift(): ContextId | null {
    const id = this.#ids[this.#empty]
    if (id === undefined) return null
    this.#empty += 1
    if (this.#empty === this.#ids.length || (this.#empty > MIN_EMPTY && 2 * this.#empty > this.#ids.length)) {
      this.#ids = this.#ids.slice(this.#empty)
      this.#empty = 0
    }
    return id
  }

  clear(): void {
    this.#ids = []
    this.#empty = 0
  }
}
