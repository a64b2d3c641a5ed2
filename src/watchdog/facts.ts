// watchdog: the state of the server that its thread reports when the watchdog has stopped it.
import type { RunningStep, PackageFolder } from '../ports/steps.ts'

/** Name of the global symbol under which the server's thread has a function that returns its facts as JSON text. */
export const HOOK = 'actorflux.watchdog'

export interface Facts {
  /** The step whose function started the running code, directly or asynchronously; null if none did. */
  readonly step: RunningStep | null
  /** Steps whose functions have not ended. */
  readonly running: readonly RunningStep[]
  readonly packages: readonly PackageFolder[]
  /** Whether the inspector is open. A debugger may stop the server for any time. */
  readonly isDebugged: boolean
  /** Used share of the heap limit, from 0 to 1. */
  readonly heap: number
}
