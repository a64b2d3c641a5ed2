// model: limits the number of steps of each kind that run at once, and queues a bounded number of context ids, in
// order. It is the only bound on steps in memory: a step without a slot has no lease and no data.
import type { ContextId, StepKind } from './context.ts'

/** Maximum number of queued ids of each kind. Other ready steps are found in the store. */
const MAX_WAITING = 10_000

/**
 * Scripts that run or are queued for a process. A script takes a few milliseconds, and a process must not wait for the
 * store between two of them.
 */
const SCRIPTS = 64

export interface SlotsOptions {
  /** Maximum number of functions that run in this process. */
  readonly code: number
  /** Maximum number of functions that run in processes of their own. */
  readonly isolated: number
  /** Maximum number of scripts that run or are queued for a process. */
  readonly script?: number
  readonly maxWaiting?: number
}

const laneOf = (kind: StepKind, slots: number) => ({ kind, slots, taken: 0, waiting: new Array<ContextId>() })

/** Slots that are taken, those that there are, and contexts that wait for one. */
export type StepUsage = ReturnType<Slots['usage']>[number]

export class Slots {
  readonly #lanes: { readonly [kind in StepKind]: ReturnType<typeof laneOf> }
  readonly #maxWaiting: number
  #onFree: (kind: StepKind) => void = () => {}
  #isClosed = false

  constructor({ code, isolated, script = SCRIPTS, maxWaiting = MAX_WAITING }: SlotsOptions) {
    this.#maxWaiting = maxWaiting
    this.#lanes = {
      code: laneOf('code', code),
      isolated: laneOf('isolated', isolated),
      script: laneOf('script', script),
    }
  }

  /** Takes a slot of that kind. Returns false if none is free, or if the slots are closed. */
  tryTake(kind: StepKind) {
    if (this.free(kind) <= 0) return false
    this.#lanes[kind].taken += 1
    return true
  }

  /** Gives a slot back. */
  release(kind: StepKind) {
    this.#lanes[kind].taken -= 1
    this.#onFree(kind)
  }

  /** Number of free slots of that kind; 0 when closed. */
  free(kind: StepKind) {
    const { slots, taken } = this.#lanes[kind]
    return this.#isClosed ? 0 : slots - taken
  }

  /** The usage of each kind. */
  usage() {
    return Object.values(this.#lanes).map((lane) => ({ ...lane, waiting: lane.waiting.length }))
  }

  /** Queues a context whose step waits for a slot. Returns false if the queue is full. */
  wait(kind: StepKind, id: ContextId) {
    if (this.#isClosed || this.#lanes[kind].waiting.length >= this.#maxWaiting) return false
    this.waitLast(kind, id)
    return true
  }

  /** Queues a context at the end, even if the queue is full, because it is recorded nowhere else. */
  waitLast(kind: StepKind, id: ContextId) {
    if (!this.#isClosed) this.#lanes[kind].waiting.push(id)
  }

  /** Queues a context at the front, even if the queue is full. */
  waitFirst(kind: StepKind, id: ContextId) {
    if (!this.#isClosed) this.#lanes[kind].waiting.unshift(id)
  }

  /** Takes a slot for the first context in the queue, and removes it; null: none waits, or no slot is free. */
  next(kind: StepKind) {
    const { waiting } = this.#lanes[kind]
    return waiting.length > 0 && this.tryTake(kind) ? (waiting.shift() ?? null) : null
  }

  /** Sets the listener that is called after a slot was given back. */
  onFree(listener: (kind: StepKind) => void) {
    this.#onFree = listener
  }

  /** Gives out no more slots, and empties the queues. */
  close() {
    this.#isClosed = true
    for (const { waiting } of Object.values(this.#lanes)) waiting.length = 0
  }
}
