// ports: how many steps may run at once in this server, and which ones wait for that.
import type { ContextId } from '../model/context.ts'

/** Where a step runs: a function in this process, a function in one of its own, a script, a script known to be slow. */
export type StepKind = 'code' | 'isolated' | 'script' | 'slowScript'

export interface StepSlots {
  /** Takes a slot of that kind; false: none is free, or the server stops. */
  tryTake(kind: StepKind): boolean
  /** Gives it back. */
  release(kind: StepKind): void
  /** How many of that kind are free. */
  free(kind: StepKind): number
  /** Remembers a context whose step waits for a slot; false: so many wait already that it is not remembered. */
  wait(kind: StepKind, id: ContextId): boolean
  /** The same, however many wait already, after all of them or before: it is remembered nowhere else. */
  waitLast(kind: StepKind, id: ContextId): void
  waitFirst(kind: StepKind, id: ContextId): void
  /** Takes a slot for the context that has waited longest, and forgets it; null: none waits, or none is free. */
  next(kind: StepKind): ContextId | null
  /** The listener is called whenever a slot was given back. */
  onFree(listener: (kind: StepKind) => void): void
  /** Gives out no slots any more, and forgets what waits. */
  close(): void
}
