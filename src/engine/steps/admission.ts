// engine: whether a step may start in this server: it needs a slot, and memory for what it is given. What gets both
// starts; any other step is ready, without a lease, and is claimed by whichever server has a free slot.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import { UNOWNED, type ContextRecord } from '../../model/record.ts'
import type { StepKind, StepSlots } from '../../ports/step-slots.ts'
import type { StepRunner } from '../../ports/step-runner.ts'
import type { StoredContext } from '../../ports/store.ts'
import { readyKindOfStep } from '../record/position.ts'
import { LIGHT_BYTES, noRoom, weightOf } from '../context-loader.ts'

/** A slot that a step has been given. */
export interface Slot {
  readonly kind: StepKind
  /** Takes memory for the context with these texts; false when there is not enough. */
  fits(texts: StoredContext['parts']): boolean
  /** Memory that the step has waited for. */
  addRoom(release: () => void): void
  /** Gives back the memory alone. */
  releaseRoom(): void
  /** Exchanges it for a slot of another kind; false when none is free. */
  move(kind: StepKind): boolean
  /** Gives back slot and memory. Later calls do nothing. */
  release(): void
}

export interface AdmissionParts {
  readonly slots: StepSlots
  readonly runner: Pick<StepRunner, 'isSlowScript'>
  /** For what steps that run are given. */
  readonly budget: ByteBudget
}

export class Admission {
  readonly #parts: AdmissionParts

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Null when no slot of that kind is free. */
  take(kind: StepKind): Slot | null {
    return this.#parts.slots.tryTake(kind) ? this.slotOf(kind) : null
  }

  /** A slot that `StepSlots` has given out. */
  slotOf(kind: StepKind): Slot {
    return new TakenSlot(kind, this.#parts)
  }

  /** Where the step of that state runs. */
  kindOf(flux: CompiledFlux, state: number): StepKind {
    const script = flux.states[state]?.action?.script
    return script != null && this.#parts.runner.isSlowScript(script) ? 'slowScript' : readyKindOfStep(flux, state)
  }

  /** Resolves with what gives the memory back, as soon as there is so much. */
  waitForRoom(bytes: number): Promise<() => void> {
    return this.#parts.budget.wait(bytes)
  }
}

class TakenSlot implements Slot {
  #kind: StepKind
  readonly #parts: AdmissionParts
  #room: (() => void) | null = null
  #isReleased = false

  constructor(kind: StepKind, parts: AdmissionParts) {
    this.#kind = kind
    this.#parts = parts
  }

  get kind(): StepKind {
    return this.#kind
  }

  fits(texts: StoredContext['parts']): boolean {
    if (this.#room) return true
    const weight = weightOf(texts)
    this.#room = weight <= LIGHT_BYTES ? noRoom : this.#parts.budget.tryTake(weight)
    return this.#room !== null
  }

  addRoom(release: () => void): void {
    this.#room = release
  }

  releaseRoom(): void {
    this.#room?.()
    this.#room = noRoom
  }

  move(kind: StepKind): boolean {
    if (this.#isReleased || kind === this.#kind) return true
    if (!this.#parts.slots.tryTake(kind)) return false
    const before = this.#kind
    this.#kind = kind
    this.#parts.slots.release(before)
    return true
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.releaseRoom()
    this.#parts.slots.release(this.#kind)
  }
}

/** The record of a context whose step is to be claimed. It was decided as if the step started at once. */
export const readied = (record: ContextRecord): ContextRecord => ({
  ...record,
  lease: record.lease && { ...record.lease, owner: UNOWNED },
  stepStartedAt: undefined,
})
