// engine/turn: decides whether a step may start on this server. It needs a slot, and memory for its data. A step that lacks
// one of them becomes ready: it has no lease, and any server with a free slot can claim it.
import type { ByteBudget } from '../../model/byte-budget.ts'
import { type ContextRecord, type StepKind, UNOWNED } from '../../model/context.ts'
import type { Slots } from '../../model/slots.ts'
import type { StoredContext } from '../../ports/store.ts'
import { LIGHT_BYTES, noRoom, weightOf } from '../contexts/context-loader.ts'

export interface AdmissionParts {
  readonly slots: Slots
  /** The memory budget for the data of running steps. */
  readonly budget: ByteBudget
}

export class Admission {
  readonly #parts: AdmissionParts

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Takes a slot; null: no slot of that kind is free. */
  take(kind: StepKind): Slot | null {
    return this.#parts.slots.tryTake(kind) ? this.slotOf(kind) : null
  }

  /** Wraps a slot that was taken with `Slots.next`. */
  slotOf(kind: StepKind): Slot {
    return new TakenSlot(kind, this.#parts)
  }

  /** Resolves when that much memory is reserved, with the function that gives it back. */
  waitForRoom(bytes: number): Promise<() => void> {
    return this.#parts.budget.wait(bytes)
  }
}

/** A slot that a step holds, with its share of the memory budget. */
export type Slot = Pick<TakenSlot, keyof TakenSlot>

class TakenSlot {
  readonly kind: StepKind
  readonly #parts: AdmissionParts
  #room: (() => void) | null = null
  #isReleased = false

  constructor(kind: StepKind, parts: AdmissionParts) {
    this.kind = kind
    this.#parts = parts
  }

  /** Reserves memory for the context with these texts. Returns false if there is not enough. */
  fits(texts: StoredContext['parts']): boolean {
    if (this.#room) return true
    const weight = weightOf(texts)
    this.#room = weight <= LIGHT_BYTES ? noRoom : this.#parts.budget.tryTake(weight)
    return this.#room !== null
  }

  /** Adds memory that was reserved before; `release` gives it back. */
  addRoom(release: () => void): void {
    this.#room = release
  }

  /** Gives back only the memory. */
  releaseRoom(): void {
    this.#room?.()
    this.#room = noRoom
  }

  /** Gives back the slot and the memory. Later calls have no effect. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.releaseRoom()
    this.#parts.slots.release(this.kind)
  }
}

/** Makes the step of a decided record ready, without a lease. The decision assumed that the step starts at once. */
export const readied = (record: ContextRecord): ContextRecord => ({
  ...record,
  lease: record.lease && { ...record.lease, owner: UNOWNED },
  stepStartedAt: undefined,
})
