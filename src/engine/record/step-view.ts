// engine/record: the step of a context as the API shows it.
import type { CompiledAction, CompiledFlux } from '../../definitions/flux.ts'
import type { StepView } from '../../api/contexts.ts'
import { UNOWNED, type ContextRecord, type StepError } from '../../model/record.ts'
import { maxAttemptsOf } from '../steps/attempts.ts'
import { stepKeyIn, stepOf, type Step } from './position.ts'
import type { ContextRedactor } from '../redact/redactor.ts'

/**
 * The start time of a step on this server, epoch milliseconds; null: it waits for a process; undefined: it is not on
 * this server.
 */
export type StartedAt = (step: Step) => number | null | undefined

/** The view of the step; null if none is in progress or waits for another attempt. */
export function stepView(
  record: ContextRecord,
  flux: CompiledFlux,
  startedAt: StartedAt,
  redactor: ContextRedactor,
): StepView | null {
  const phase = record.position.phase
  const state = flux.states[record.state]
  const action = state?.action
  if (!action || action.type === 'map' || (phase !== 'acting' && phase !== 'backoff')) return null
  const { attempt } = record.position
  const began = phase === 'acting' ? beganAt(record, startedAt) : null
  const owner = record.lease?.owner ?? UNOWNED
  return {
    state: state.name,
    kind: action.type,
    className: action.code?.className ?? null,
    methodName: action.code?.methodName ?? null,
    attempt,
    maxAttempts: maxAttemptsOf(flux, record.state),
    startedAt: began,
    timeoutAt: phase === 'acting' ? timeoutOf(record, action, began) : null,
    nextAttemptAt: phase === 'backoff' ? record.due : null,
    stepKey: stepKeyIn(record),
    server: owner === UNOWNED ? null : owner,
    lastError: errorShown(record.lastError, (text) => redactor.logged.text(text)),
  }
}

/**
 * The start time. The server that runs the step knows it; for a step on another server, it is the time in the record.
 */
function beganAt(record: ContextRecord, startedAt: StartedAt): number | null {
  const step = stepOf(record)
  const here = step && startedAt(step)
  return here === undefined || !step ? (record.stepStartedAt ?? null) : here
}

/** When the step times out. The timeout of a child is in the record, because a child outlives servers. */
function timeoutOf(record: ContextRecord, { effect, timeoutMs }: CompiledAction, began: number | null): number | null {
  if (effect === 'child') return record.due
  return began === null || timeoutMs === null ? null : began + timeoutMs
}

function errorShown(error: StepError | undefined, shown: (text: string) => string): StepView['lastError'] {
  if (!error) return null
  const { type, message, at, stack } = error
  return { type: shown(type), message: shown(message), at, stack: stack === undefined ? null : shown(stack) }
}
