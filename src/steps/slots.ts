// steps: limits the number of steps of each kind that run at once, and queues a bounded number of context ids, in
// order. It is the only bound on steps in memory: a step without a slot has no lease and no data.
import type { ContextId } from '../model/context.ts'
import type { StepKind, StepSlots } from '../ports/steps.ts'

/** Maximum number of queued ids of each kind. Other ready steps are found in the store. */
const MAX_WAITING = 10_000

export interface SlotsOptions {
  /** Maximum number of functions that run in this process. */
  readonly code: number
  /** Maximum number of functions that run in processes of their own. */
  readonly isolated: number
  /** Maximum number of scripts that run or are queued for a process; `slowScript`: those known to be slow. */
  readonly script?: number
  readonly slowScript?: number
  readonly maxWaiting?: number
}

/**
 * Default numbers of scripts that run or are queued for a process. A script takes a few milliseconds, and a process
 * must not wait for the store between two of them. For slow scripts, that wait does not matter.
 */
const SCRIPTS = { script: 64, slowScript: 16 }

const laneOf = (kind: StepKind, slots: number) => ({ kind, slots, taken: 0, waiting: new Array<ContextId>() })

export class Slots implements StepSlots {
  readonly #lanes: { readonly [kind in StepKind]: ReturnType<typeof laneOf> }
  readonly #maxWaiting: number
  #onFree: (kind: StepKind) => void = () => {}
  #isClosed = false

  constructor({ maxWaiting = MAX_WAITING, ...given }: SlotsOptions) {
    const { code, isolated, script, slowScript } = { ...SCRIPTS, ...given }
    this.#maxWaiting = maxWaiting
    this.#lanes = {
      code: laneOf('code', code),
      isolated: laneOf('isolated', isolated),
      script: laneOf('script', script),
      slowScript: laneOf('slowScript', slowScript),
    }
  }

  tryTake(kind: StepKind) {
    if (this.free(kind) <= 0) return false
    this.#lanes[kind].taken += 1
    return true
  }

  release(kind: StepKind) {
    this.#lanes[kind].taken -= 1
    this.#onFree(kind)
  }

  free(kind: StepKind) {
    const { slots, taken } = this.#lanes[kind]
    return this.#isClosed ? 0 : slots - taken
  }

  usage() {
    return Object.values(this.#lanes).map((lane) => ({ ...lane, waiting: lane.waiting.length }))
  }

  isFull(kind: StepKind) {
    return this.#lanes[kind].waiting.length >= this.#maxWaiting
  }

  wait(kind: StepKind, id: ContextId) {
    if (this.#isClosed || this.isFull(kind)) return false
    this.waitLast(kind, id)
    return true
  }

  waitLast(kind: StepKind, id: ContextId) {
    if (!this.#isClosed) this.#lanes[kind].waiting.push(id)
  }

  waitFirst(kind: StepKind, id: ContextId) {
    if (!this.#isClosed) this.#lanes[kind].waiting.unshift(id)
  }

  next(kind: StepKind) {
    const { waiting } = this.#lanes[kind]
    return waiting.length > 0 && this.tryTake(kind) ? (waiting.shift() ?? null) : null
  }

  onFree(listener: (kind: StepKind) => void) {
    this.#onFree = listener
  }

  close() {
    this.#isClosed = true
    for (const { waiting } of Object.values(this.#lanes)) waiting.length = 0
  }
}
