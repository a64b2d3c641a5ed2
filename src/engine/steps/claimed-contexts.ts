// engine: the contexts whose steps are queued in this server or are being taken, and which of them have become ready
// once more meanwhile.
import type { ContextId } from '../../model/context.ts'
import { UNOWNED } from '../../model/record.ts'
import type { StepKind } from '../../ports/step-slots.ts'

export class ClaimedContexts {
  /** Whom the step was leased to when it was found. */
  readonly #owners = new Map<ContextId, string>()
  /** Contexts that have become ready since they were last taken. */
  readonly #readyAgain = new Map<ContextId, StepKind>()

  has(id: ContextId): boolean {
    return this.#owners.has(id)
  }

  add(id: ContextId, owner: string): void {
    this.#owners.set(id, owner)
  }

  /** A step of it that nobody has a lease to is the one to be taken now. False: the context is not known. */
  becameReady(id: ContextId, kind: StepKind): boolean {
    if (!this.#owners.has(id)) return false
    this.#owners.set(id, UNOWNED)
    this.#readyAgain.set(id, kind)
    return true
  }

  /** It is taken, as it is from here on. Gives whom its step is leased to, as far as this server knows. */
  take(id: ContextId): string {
    this.#readyAgain.delete(id)
    return this.#owners.get(id) ?? UNOWNED
  }

  /** Nothing is left to be done for it. Gives the kind of its next step, if that became ready while it was taken. */
  delete(id: ContextId): StepKind | null {
    const kind = this.#readyAgain.get(id) ?? null
    this.#readyAgain.delete(id)
    this.#owners.delete(id)
    return kind
  }
}
