// engine/record: the step of a context as the API shows it: why it stands where it stands.
import type { CompiledAction, CompiledFlux } from '../../definitions/flux.ts'
import type { StepView } from '../../api/get-context.ts'
import { UNOWNED, type ContextRecord, type StepError } from '../../model/record.ts'
import { maxAttemptsOf } from '../steps/attempts.ts'
import { stepKeyOf } from '../../model/standstill.ts'
import { stepOf, type Step } from './position.ts'
import type { Redactor } from '../redact/redactor.ts'

/** When a step began that is in this server; null: it waits for a free slot; undefined: it isn't here. */
export type StartedAt = (step: Step) => number | null | undefined

/** Null where nothing is under way, nor about to be tried again. */
export function stepView(
  record: ContextRecord,
  flux: CompiledFlux,
  startedAt: StartedAt,
  redactor: Redactor,
): StepView | null {
  const phase = record.position.phase
  const state = flux.states[record.state]
  const action = state?.action
  if (!action || action.type === 'map' || (phase !== 'acting' && phase !== 'backoff')) return null
  const { epoch, attempt } = record.position
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
    stepKey: stepKeyOf(record.id, epoch),
    server: owner === UNOWNED ? null : owner,
    lastError: errorShown(record.lastError, (text) => redactor.text({ of: 'error', index: record.state }, text)),
  }
}

/** The server that has it knows best; of another's only what was so at the commit. */
function beganAt(record: ContextRecord, startedAt: StartedAt): number | null {
  const step = stepOf(record)
  const here = step && startedAt(step)
  return here === undefined || !step ? (record.stepStartedAt ?? null) : here
}

/** A child's is in the record, since it outlives servers. */
function timeoutOf(record: ContextRecord, { effect, timeoutMs }: CompiledAction, began: number | null): number | null {
  if (effect === 'child') return record.due
  return began === null || timeoutMs === null ? null : began + timeoutMs
}

function errorShown(error: StepError | undefined, shown: (text: string) => string): StepView['lastError'] {
  if (!error) return null
  const { type, message, at, stack } = error
  return { type: shown(type), message: shown(message), at, stack: stack === undefined ? null : shown(stack) }
}
