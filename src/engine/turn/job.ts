// engine/turn: a step on the server that runs it, and the names that its script sees.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { ByteBudget } from '../../model/byte-budget.ts'
import type { Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { StepSpan } from '../../ports/signals.ts'
import type { ContextLoader } from '../contexts/context-loader.ts'
import { scriptNames } from '../interpreter/scope.ts'
import { stepOf, type Step } from '../interpreter/position.ts'
import { isUnreadable } from '../record/unreadable.ts'
import type { Slot } from './admission.ts'

/** A step that runs, or whose result is being delivered to its context. */
export interface Job {
  readonly step: Step
  readonly flux: CompiledFlux
  readonly slot: Slot
  readonly controller: AbortController
  /** Epoch milliseconds; null: a script that waits for a process. */
  startedAt: number | null
  /** null: nobody traces it. */
  readonly span: StepSpan | null
}

export type StepResult =
  { readonly type: 'DONE'; readonly result: Json } | { readonly type: 'FAIL'; readonly error: ActionError }

/** Whether the context of that record is at that step. */
export function isOf({ step }: Pick<Job, 'step'>, record: ContextRecord): boolean {
  const present = stepOf(record)
  return present?.epoch === step.epoch && present.attempt === step.attempt && present.owner === step.owner
}

/** Milliseconds until a failed read of the context is repeated. */
const READ_AGAIN_MS = 1000

interface NamesParts {
  readonly loader: ContextLoader
  readonly turns: ByteBudget
  readonly clock: Clock
  readonly log: Log
}

/**
 * The JSON text of the names, made when the script begins, and not kept. Reading the context is repeated until it succeeds or `isWanted` returns false.
 * @throws DOMException `AbortError` when the context is no longer at that step, or cannot be parsed
 */
export async function namesText(
  { loader, turns, clock, log }: NamesParts,
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
