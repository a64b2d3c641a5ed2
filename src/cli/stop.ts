// cli: ends the server's process: in order on the first signal, at once on a later one, with a failure when an
// unexpected error is thrown.
import type { Log } from '../ports/log.ts'
import { EXIT } from './command.ts'
import { whenLauncherEnds } from './launcher.ts'

/** The part of `process` that is used here. */
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
  /** Monotonic time in milliseconds. */
  readonly now?: () => number
  /** Calls back when the process that started this one has gone, if that should end this one. */
  readonly launcher?: (ended: () => void) => void
}

/**
 * A signal within so many milliseconds of the first one counts as the same: npm forwards it, and systemd sends it to
 * the whole process group.
 */
const ECHO_MS = 2000

let isStopRequested = false

/** Whether this process was asked to stop. An exit after that is not a failure. */
export const isStopping = (): boolean => isStopRequested

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
      isStopRequested = true
      log.info('stopping', { signal })
      close().then(
        () => resolve(EXIT.fine),
        (error: unknown) => {
          log.error('could not stop in order', { error })
          resolve(EXIT.failed)
        },
      )
    }
    // Prepended, to run before any listener that a module of a service has added.
    signals.prependListener('SIGTERM', stop)
    signals.prependListener('SIGINT', stop)
    launcher(() => {
      if (stoppedAt === null) stop('the end of npm')
    })
    // What was acknowledged is committed; the next start continues what was under way.
    signals.on('uncaughtException', (error) => {
      log.error('an uncaught error ends the server', { error })
      signals.exit(EXIT.failed)
    })
    // A function of a service forgot to await a promise. That affects only this function, so the server keeps running.
    signals.on('unhandledRejection', (error) =>
      log.error('a promise was rejected, and the rejection was not handled', { error }),
    )
  })
}
