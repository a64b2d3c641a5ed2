// engine: aborts steps that run here although another server has ended their context or moved it on. Messages
// between servers are hints: the store decides.
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

  /** Aborts the step of that context that runs here, or waits to, unless the store has the context at that step. */
  async check(id: ContextId): Promise<void> {
    const { loader, steps, log } = this.#parts
    const step = steps.of(id)
    if (!step) return
    try {
      const stored = await loader.read(id)
      // Meanwhile this server itself may have started the next one.
      if ((stored && isOf({ step }, decodeHead(stored))) || !steps.has(step)) return
      steps.abort(id, 'another server has ended the context or moved it on')
    } catch (error) {
      // The heartbeat looks again. What can't be read is told of when it is to be decided on.
      if (!(error instanceof FluxError)) throw error
      log.debug('whether a step is still to run could not be found out', { contextId: id, error })
    }
  }

  /** The same of all steps that run here and aren't among the leased. `running`: before the store was asked. */
  checkAll(running: readonly ContextId[], leased: readonly ContextId[]): void {
    const known = new Set(leased)
    for (const id of running) if (!known.has(id)) void this.check(id)
  }
}
