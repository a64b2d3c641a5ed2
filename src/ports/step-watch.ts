// ports: who knows which function runs, so that one that never returns can be named.
import type { ContextId } from '../model/context.ts'
import type { StepAttempt } from '../model/standstill.ts'
import type { FunctionName, PackageFolder } from './step-runner.ts'

/** A step whose function runs. */
export interface RunningStep extends FunctionName, StepAttempt {
  readonly contextId: ContextId
  readonly fluxName: string
  readonly state: string
}

export interface StepWatch {
  /** Sets the folders in which functions lie. */
  mount(packages: readonly PackageFolder[]): void
  /** Calls the function; the step counts as running until what it returns has settled. */
  run(step: RunningStep, call: () => unknown): Promise<unknown>
}

/** How another thread of the process writes down a standstill, while this one can't. */
export interface NotesPlace {
  /** URL of a module that exports `openNotes`, a function that takes `place` and gives `Notes`. */
  readonly module: string
  /** Plain data. */
  readonly place: unknown
}

export interface StandstillNotes {
  /**
   * Durable, as far as the store's other writes are, when it resolves. `owner` is the boot id of the server that stands
   * still.
   */
  write(owner: string, text: string): Promise<void>
  erase(owner: string): Promise<void>
}
