// engine: a step on the server that runs it.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { StepSpan } from '../../ports/traces.ts'
import { stepOf, type Step } from '../record/position.ts'
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
