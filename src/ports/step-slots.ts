// ports: limits how many steps run at once on this server, and queues contexts whose steps wait for a slot.
import type { ContextId } from '../model/context.ts'

/**
 * Where a step runs: a function in this process, a function in a process of its own, a script, or a script known to be
 * slow.
 */
export type StepKind = 'code' | 'isolated' | 'script' | 'slowScript'

export interface StepUsage {
  readonly kind: StepKind
  readonly taken: number
  readonly slots: number
  readonly waiting: number
}

export interface StepSlots {
  /** Takes a slot of that kind. Returns false if none is free, or if the slots are closed. */
  tryTake(kind: StepKind): boolean
  /** Gives a slot back. */
  release(kind: StepKind): void
  /** Number of free slots of that kind; 0 when closed. */
  free(kind: StepKind): number
  /** Slots that are taken, those that there are, and contexts that wait for one, of each kind. */
  usage(): readonly StepUsage[]
  /** Whether as many contexts are queued as `wait` accepts. */
  isFull(kind: StepKind): boolean
  /** Queues a context whose step waits for a slot. Returns false if the queue is full. */
  wait(kind: StepKind, id: ContextId): boolean
  /** Queues a context at the end or at the front, even if the queue is full, because it is recorded nowhere else. */
  waitLast(kind: StepKind, id: ContextId): void
  waitFirst(kind: StepKind, id: ContextId): void
  /** Takes a slot for the first context in the queue, and removes it; null: none waits, or no slot is free. */
  next(kind: StepKind): ContextId | null
  /** Sets the listener that is called after a slot was given back. */
  onFree(listener: (kind: StepKind) => void): void
  /** Gives out no more slots, and empties the queues. */
  close(): void
}
