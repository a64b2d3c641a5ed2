// engine/interpreter: decisions about the lease of a step (takeover, release), and about a context that cannot continue. None reads
// the context's data, which may be the cause of the failure.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { actionError, type ActionError } from '../../model/action-error.ts'
import type { Standstill } from '../../model/standstill.ts'
import { type ContextRecord, type Move, UNOWNED } from '../../model/context.ts'
import type { Decision, Input, DecisionEnv } from './decision.ts'
import { exceptionOf } from './exception.ts'
import { isAt, runsHere, stepKeyIn, stepOf } from './position.ts'
import { recordChange } from './transit.ts'
import { entryOf } from './turn-state.ts'

/**
 * Maximum number of takeovers with which a step is started again, so that a step that kills its server does not kill
 * every server in turn.
 */
const MAX_TAKEOVERS = 5

const LOST = actionError('LeaseLost', `${MAX_TAKEOVERS + 1} servers were lost while they ran this step`)

/**
 * Leases the step to this server, and counts the takeover. Reads only the head of `record`. After too many takeovers
 * the step is not started but fails (`lossOf`). Handling that failure needs the data; if it kills another server, the
 * context is ended without reading its data.
 */
export function takeOver(
  flux: CompiledFlux,
  record: ContextRecord,
  { isUncounted = false }: Input & { type: 'TAKE_OVER' },
  env: DecisionEnv,
): Decision {
  const { lease, state } = record
  if (!lease || lease.owner === env.owner) return { kind: 'noop' }
  const isReady = lease.owner === UNOWNED
  const takeovers = lease.takeovers + (isReady || isUncounted ? 0 : 1)
  if (takeovers > MAX_TAKEOVERS + 1)
    return endNow(flux, record, LOST, env, [entryOf(flux.states[state]?.name ?? '', env.now)])
  const changed = { ...record, stepStartedAt: undefined, updatedAt: env.now }
  // Its server has died. While it is paused, no other starts the step.
  if (record.isPaused)
    return isReady ? { kind: 'noop' } : recordChange({ ...changed, lease: { owner: UNOWNED, takeovers } })
  const next = {
    ...changed,
    lease: { owner: env.owner, takeovers },
    stepStartedAt: runsHere(flux, state) ? env.now : undefined,
  }
  return { ...recordChange(next), step: isLost(next) ? null : stepOf(next) }
}

const isLost = ({ lease }: ContextRecord): boolean => lease !== null && lease.takeovers > MAX_TAKEOVERS

/** The message to a context whose step was taken over too many times; null: the step may start. */
export function lossOf(record: ContextRecord): Input | null {
  const step = stepOf(record)
  return step && isLost(record) ? { type: 'FAIL', ...step, error: LOST } : null
}

/** The failure of a step that blocked the event loop of a server until the server ended; null: it was not this step. */
export function blockOf(record: ContextRecord, { step: blocked, message, stack: at }: Standstill): Input | null {
  const step = stepOf(record)
  if (!step || blocked?.stepKey !== stepKeyIn(record) || blocked.attempt !== step.attempt) return null
  const stack = at === '' ? {} : { stack: at }
  const error = actionError('EventLoopBlocked', message)
  const realException = { name: error.type, message, ...stack }
  return { type: 'FAIL', ...step, error: { ...error, realException, ...stack } }
}

/**
 * Releases the lease of a step that does not run here, or that runs when the server stops. The step becomes ready, and
 * its next takeover is not counted.
 */
export function release(
  record: ContextRecord,
  { step }: Input & { type: 'RELEASE' },
  { owner }: DecisionEnv,
): Decision {
  const { lease } = record
  if (lease?.owner !== owner || (step && !isAt(step, record))) return { kind: 'noop' }
  return recordChange({ ...record, lease: { ...lease, owner: UNOWNED }, stepStartedAt: undefined })
}

/** Ends a context as failed. No transition is taken, and its data is not changed. */
export function endNow(
  flux: CompiledFlux,
  record: ContextRecord,
  error: ActionError,
  { now }: DecisionEnv,
  history: readonly Move[],
): Decision {
  return recordChange({
    ...record,
    status: 'FAILED',
    due: null,
    lease: null,
    child: null,
    stepStartedAt: undefined,
    lastError: undefined,
    error: exceptionOf(error, flux, history),
    position: { ...record.position, phase: 'failed' },
    updatedAt: now,
    endedAt: now,
  })
}
