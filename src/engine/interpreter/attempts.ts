// engine/interpreter: failed attempts of a step: what the record keeps of the last one, and what is logged.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import type { ContextRecord, StepError } from '../../model/context.ts'
import type { Log } from '../../ports/log.ts'
import { redactorOf } from '../redact/redactor.ts'

export interface FailedAttempt {
  /** Index of the state. */
  readonly state: number
  /** 1, 2, … */
  readonly attempt: number
  readonly error: ActionError
}

/** Maximum length of a message that is kept in the record or logged. */
const MAX_MESSAGE_CHARACTERS = 4096
/** The number of the attempt from which a failure is logged as a warning. */
const WARN_FROM = 3

/** The maximum number of attempts of the action of a state. A child has one attempt. */
export function maxAttemptsOf(flux: CompiledFlux, state: number): number {
  return flux.states[state]?.action.retry.maxAttempts ?? 1
}

/** What the record keeps of the error. */
export const stepErrorOf = ({ type, message, stack }: ActionError, at: number): StepError => ({
  type: cut(type),
  message: cut(message),
  at,
  ...(stack !== undefined && { stack }),
})

/** Logs failed attempts, and the failure of the context, after the commit. */
export function logFailures(
  log: Log,
  {
    before,
    record,
    flux,
    failures,
  }: {
    readonly before: ContextRecord | null
    readonly record: ContextRecord
    readonly flux: CompiledFlux
    readonly failures: readonly FailedAttempt[]
  },
): void {
  const hasFailed = record.status === 'FAILED' && before?.status !== 'FAILED'
  if (failures.length === 0 && !hasFailed) return
  const redactor = redactorOf(record, flux)
  const fields = (state: number, error: Pick<ActionError, 'type' | 'message' | 'realException'>) => {
    const { type, message, stack } = redactor.error({ ...error, className: error.type, fluxStackTrace: [] })
    return {
      contextId: record.id,
      fluxName: record.fluxName,
      state: flux.states[state]?.name ?? '',
      reason: cut(`${type}: ${message}`),
      ...(stack !== undefined && { stack: cut(stack) }),
    }
  }
  for (const { state, attempt, error } of failures)
    log[attempt < WARN_FROM ? 'info' : 'warn']('an attempt failed', {
      ...fields(state, error),
      attempt,
      maxAttempts: maxAttemptsOf(flux, state),
    })
  if (hasFailed) log.warn('a context failed', fields(record.state, record.error ?? actionError('Error', '')))
}

const cut = (text: string): string =>
  text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…` : text
