// watchdog: what the server's thread tells of itself when the watchdog has stopped it in the midst of something.
import type { RunningStep } from '../ports/step-watch.ts'
import type { PackageFolder } from '../ports/step-runner.ts'

/** The name under which the server's thread keeps the function that gives its facts as JSON text. */
export const HOOK = 'actorflux.watchdog'

export interface Facts {
  /** The step that what runs now was started by, directly or by what it waited for; null: none. */
  readonly step: RunningStep | null
  /** Steps whose functions haven't ended. */
  readonly running: readonly RunningStep[]
  readonly packages: readonly PackageFolder[]
  /** A debugger is listened for: it may hold the server up as long as it likes. */
  readonly isDebugged: boolean
  /** Share of the heap that may be used that is used. */
  readonly heap: number
}
