// cli: how a server's process ends: in order on the first signal, at once on a later one, in failure when something
// unexpected is thrown.
import type { Log } from '../ports/log.ts'
import { EXIT } from './command.ts'
import { whenLauncherEnds } from './launcher.ts'

/** The part of `process` that is used. */
interface Signals {
  on(event: string, listener: (cause: unknown) => void): unknown
  prependListener(event: string, listener: (cause: unknown) => void): unknown
  exit(code: number): void
}

export interface StopOptions {
  /** Called once, on the first SIGTERM or SIGINT. */
  readonly close: () => Promise<void>
  readonly log: Log
  readonly signals?: Signals
  /** Milliseconds that only rise. */
  readonly now?: () => number
  /** Calls back when whoever started the process has gone, if that is to end it. */
  readonly launcher?: (ended: () => void) => void
}

/**
 * Milliseconds after the first signal in which another is the same one: npm hands it on, and systemd sends it to the
 * whole group.
 */
const ECHO_MS = 2000

let toldToStop = false

/** Whether this process was told to stop: whoever ends it then does what was asked for. */
export const isStopping = (): boolean => toldToStop

/** Resolves with the exit code when the server has been stopped. */
export function untilStopped({
  close,
  log,
  signals = process,
  now = () => performance.now(),
  launcher = whenLauncherEnds,
}: StopOptions): Promise<number> {
  return new Promise((resolve) => {
    let stoppedAt: number | null = null
    const stop = (signal: unknown) => {
      if (stoppedAt !== null) {
        if (now() - stoppedAt >= ECHO_MS) signals.exit(EXIT.failed)
        return
      }
      stoppedAt = now()
      toldToStop = true
      log.info('stopping', { signal })
      close().then(
        () => resolve(EXIT.fine),
        (error: unknown) => {
          log.error('could not stop in order', { error })
          resolve(EXIT.failed)
        },
      )
    }
    // Before what modules of services may do at a signal.
    signals.prependListener('SIGTERM', stop)
    signals.prependListener('SIGINT', stop)
    launcher(() => {
      if (stoppedAt === null) stop('the end of npm')
    })
    // What was acknowledged is committed; what was under way is taken up by the next start.
    signals.on('uncaughtException', (error) => {
      log.error('an error that nobody handled', { error })
      signals.exit(EXIT.failed)
    })
    // A function of a service that forgot to await something: its own loss, and no reason to take everyone else's work
    // down.
    signals.on('unhandledRejection', (error) => log.error('a promise was rejected and nobody handled it', { error }))
  })
}
