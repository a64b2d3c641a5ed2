// engine: aborts steps on this server whose context was ended or continued by another server. Messages between servers
// are hints: the stored record decides.
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import { decodeHead } from '../record/decode.ts'
import { isOf } from './job.ts'
import type { ContextLoader } from '../context-loader.ts'
import type { Steps } from './steps.ts'

export interface CancelsParts {
  readonly loader: ContextLoader
  readonly steps: Steps
  readonly log: Log
}

export class Cancels {
  readonly #parts: CancelsParts

  constructor(parts: CancelsParts) {
    this.#parts = parts
  }

  /** Aborts the step of that context on this server, unless the stored context is at that step. */
  async check(id: ContextId): Promise<void> {
    const { loader, steps, log } = this.#parts
    const step = steps.of(id)
    if (!step) return
    try {
      const stored = await loader.read(id)
      // In the meantime, this server itself may have started the next step.
      if ((stored && isOf({ step }, decodeHead(stored))) || !steps.has(step)) return
      steps.abort(id, 'another server has ended the context or moved it on')
    } catch (error) {
      // The heartbeat checks again. An unreadable record is logged when a turn needs it.
      if (!(error instanceof FluxError)) throw error
      log.debug('the context of a running step could not be read', { contextId: id, error })
    }
  }

  /**
   * Checks the running steps that are not leased to this server. `running`: must be read before the store is queried
   * for `leased`.
   */
  checkAll(running: readonly ContextId[], leased: readonly ContextId[]): void {
    const known = new Set(leased)
    for (const id of running) if (!known.has(id)) void this.check(id)
  }
}
