// engine: the JSON text of the names that a script sees. It is made when the script begins, and not kept.
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import { isOf, type Job } from './job.ts'
import type { ContextLoader } from '../context-loader.ts'
import { scriptNames } from '../interpreter/scope.ts'
import { isUnreadable } from '../record/unreadable.ts'

/** Milliseconds until a failed read of the context is repeated. */
export const READ_AGAIN_MS = 1000

interface Parts {
  readonly loader: ContextLoader
  readonly turns: ByteBudget
  readonly clock: Clock
  readonly log: Log
}

/**
 * The JSON text of the names. Reading the context is repeated until it succeeds or `isWanted` returns false.
 * @throws DOMException `AbortError` when the context is no longer at that step, or cannot be parsed
 */
export async function namesText(
  { loader, turns, clock, log }: Parts,
  job: Job,
  isWanted: () => boolean,
): Promise<string> {
  const {
    flux,
    step: { id },
  } = job
  const known = loader.cache(id)
  if (known && isOf(job, known)) return JSON.stringify(scriptNames(flux, known))
  while (isWanted()) {
    const opened = await loader.openLater(id, turns).catch((error: unknown) => {
      if (isUnreadable(error, log)) return null
      log.error('a step could not be read; it will be tried again', { contextId: id, error })
      return undefined
    })
    if (opened === undefined) {
      await new Promise<void>((resolve) => {
        clock.after(READ_AGAIN_MS, resolve)
      })
      continue
    }
    try {
      if (opened && isOf(job, opened.record)) return JSON.stringify(scriptNames(flux, opened.record))
      break
    } finally {
      opened?.release()
    }
  }
  throw new DOMException('the context has moved on', 'AbortError')
}
