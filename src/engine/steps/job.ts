// engine: a step as the server has it that runs it, or will.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Json } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { StoredContext } from '../../ports/store.ts'
import { stepOf, type Step } from '../record/position.ts'

/** A step that runs, or waits to. Of its context it holds no data until it has a slot. */
export interface Job {
  readonly step: Step
  readonly flux: CompiledFlux
  readonly kind: Kind
  /** null: it waits. */
  controller: AbortController | null
  /** Room that it has waited for. */
  release: (() => void) | null
  /** Epoch milliseconds; null: it waits. */
  startedAt: number | null
  /** Called when it has begun, or waits for room, or never will begin. */
  onBegun: (() => void) | null
}

/** The context that has just been committed. */
export interface CommittedContext {
  readonly record: ContextRecord
  readonly texts: StoredContext['parts']
}

/** What a step needs when it begins. */
export interface Ready {
  readonly record: ContextRecord
  readonly release: () => void
}

export type StepResult =
  { readonly type: 'DONE'; readonly result: Json } | { readonly type: 'FAIL'; readonly error: ActionError }

/** Where a step runs: functions in this process or in one of their own, scripts in the sandbox. */
export type Kind = 'code' | 'isolated' | 'script'

export function jobKindOf({ state }: Step, flux: CompiledFlux): Kind {
  const action = flux.states[state]?.action
  return action?.script != null ? 'script' : action?.code?.isolate ? 'isolated' : 'code'
}

/** Whether the context is still at that step, as its record knows it. */
export function isOf({ step }: Pick<Job, 'step'>, record: ContextRecord): boolean {
  const present = stepOf(record)
  return present?.epoch === step.epoch && present.attempt === step.attempt && present.owner === step.owner
}
