// cli: ends the server's process: in order on the first signal, at once on a later one, with a failure when an
// unexpected error is thrown. npm starts the server through a shell, which dies of a signal without forwarding it, so the
// server stops, too, when that shell has gone.
import type { EventEmitter } from 'node:events'
import type { Log } from '../ports/log.ts'
import { EXIT } from './command.ts'

/** The part of `process` that is used here. */
interface Signals extends EventEmitter {
  exit(code: number): void
}

/**
 * A signal within so many milliseconds of the first one counts as the same: npm forwards it, and systemd sends it to
 * the whole process group.
 */
const ECHO_MS = 2000

let isStopRequested = false

/** Whether this process was asked to stop. An exit after that is not a failure. */
export const isStopping = (): boolean => isStopRequested

/**
 * Resolves with the exit code when the server has been stopped.
 * @param close called once, on the first SIGTERM or SIGINT
 * @param launcher calls back when the process that started this one has gone, if that should end this one
 */
export function untilStopped(
  close: () => Promise<void>,
  log: Log,
  signals: Signals = process,
  launcher = whenLauncherEnds,
): Promise<number> {
  return new Promise((resolve) => {
    let stoppedAt: number | null = null
    const stop = (signal: unknown) => {
      if (stoppedAt !== null) {
        if (performance.now() - stoppedAt >= ECHO_MS) signals.exit(EXIT.failed)
        return
      }
      stoppedAt = performance.now()
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

/** Milliseconds between two checks. */
const CHECK_EVERY_MS = 500

/**
 * Calls back once when the shell by which npm started this process has gone; never if npm did not start it. The check
 * does not keep the process alive.
 * @param isScript whether npm has started it: for the processes of its scripts, npm sets a variable
 * @param parentId of the process that started this one, or of the one that adopted it
 */
export function whenLauncherEnds(
  callback: () => void,
  isScript = process.env['npm_lifecycle_event'] !== undefined,
  parentId = () => process.ppid,
): void {
  if (!isScript) return
  const first = parentId()
  const timer = setInterval(() => {
    if (parentId() === first) return
    clearInterval(timer)
    callback()
  }, CHECK_EVERY_MS)
  timer.unref()
}
