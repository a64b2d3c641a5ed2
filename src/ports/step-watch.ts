// ports: tracks which functions run, so that one that never returns can be identified.
import type { ContextId } from '../model/context.ts'
import type { StepAttempt } from '../model/standstill.ts'
import type { FunctionName, PackageFolder } from './step-runner.ts'

/** A step whose function is running. */
export interface RunningStep extends FunctionName, StepAttempt {
  readonly contextId: ContextId
  readonly fluxName: string
  readonly state: string
}

export interface StepWatch {
  /** Sets the folders of the users' functions. */
  mount(packages: readonly PackageFolder[]): void
  /** Calls the function. The step counts as running until the returned promise has settled. */
  run(step: RunningStep, call: () => unknown): Promise<unknown>
}

/** How the watchdog thread records that the event loop is blocked, while the main thread cannot. */
export interface NotesPlace {
  /** URL of a module that exports `openNotes`, a function that takes `place` and returns `StandstillNotes`. */
  readonly module: string
  /** Plain data. */
  readonly place: unknown
}

export interface StandstillNotes {
  /**
   * Writes a note. When it resolves, the note is as durable as other writes of the store. `owner`: boot id of the
   * blocked server.
   */
  write(owner: string, text: string): Promise<void>
  erase(owner: string): Promise<void>
}
