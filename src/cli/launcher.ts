// cli: detects the end of npm. npm starts the server through a shell, which dies of a signal without forwarding it, so
// the server stops when that shell has gone.

/** Milliseconds between two checks. */
const CHECK_EVERY_MS = 500

export interface Launcher {
  /** The name of the npm script, which npm sets for the processes that it starts; undefined without npm. */
  readonly lifecycleEvent: string | undefined
  /** Id of the process that started this one, or of the one that adopted it. */
  parent(): number
}

const NPM: Launcher = { lifecycleEvent: process.env['npm_lifecycle_event'], parent: () => process.ppid }

/**
 * Calls back once when the shell by which npm started this process has gone; never if npm did not start it. The check
 * does not keep the process alive.
 */
export function whenLauncherEnds(callback: () => void, { lifecycleEvent, parent }: Launcher = NPM): void {
  if (lifecycleEvent === undefined) return
  const first = parent()
  const timer = setInterval(() => {
    if (parent() === first) return
    clearInterval(timer)
    callback()
  }, CHECK_EVERY_MS)
  timer.unref()
}
