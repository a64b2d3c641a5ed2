// cli: npm starts the server through a shell, which dies of a signal and does not hand it on: that it has gone is a
// signal, too.

/** Milliseconds between two looks. */
const LOOK_EVERY_MS = 500

export interface Launcher {
  /** Set by npm for what it runs. */
  readonly lifecycleEvent: string | undefined
  /** Id of the process that started this one, or that took it over. */
  parent(): number
}

const NPM: Launcher = { lifecycleEvent: process.env['npm_lifecycle_event'], parent: () => process.ppid }

/**
 * Calls back once when the shell by which npm started this process has gone; never if npm didn't start it. Does not
 * keep the process alive.
 */
export function whenLauncherEnds(callback: () => void, { lifecycleEvent, parent }: Launcher = NPM): void {
  if (lifecycleEvent === undefined) return
  const first = parent()
  const timer = setInterval(() => {
    if (parent() === first) return
    clearInterval(timer)
    callback()
  }, LOOK_EVERY_MS)
  timer.unref()
}
