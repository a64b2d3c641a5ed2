// engine/interpreter: decisions about the lease of a step (takeover, release), and about a context that cannot continue. None reads
// the context's data, which may be the cause of the failure.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import type { Standstill } from '../../model/standstill.ts'
import { UNOWNED, type ContextRecord, type Move } from '../../model/record.ts'
import type { Decision, Input, DecisionEnv } from './decision.ts'
import { exceptionOf } from './exception.ts'
import { runsHere, stepKeyIn, stepOf } from './position.ts'

/**
 * Maximum number of takeovers with which a step is started again, so that a step that kills its server does not kill
 * every server in turn.
 */
const MAX_TAKEOVERS = 5

const LOST: ActionError = {
  message: `${MAX_TAKEOVERS + 1} servers were lost while they ran this step`,
  type: 'LeaseLost',
  className: 'LeaseLost',
  realException: null,
}

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
  const { lease } = record
  if (!lease || lease.owner === env.owner) return { kind: 'noop' }
  const takeovers = lease.takeovers + (lease.owner === UNOWNED || isUncounted ? 0 : 1)
  if (takeovers > MAX_TAKEOVERS + 1)
    return endNow(flux, record, LOST, env, [
      { from: null, event: null, to: flux.states[record.state]?.name ?? '', at: env.now, values: {} },
    ])
  // Its server has died. While it is paused, no other starts the step.
  const held = record.isPaused ? { owner: UNOWNED, takeovers } : null
  if (held && lease.owner === UNOWNED) return { kind: 'noop' }
  const next = {
    ...record,
    lease: held ?? { owner: env.owner, takeovers },
    stepStartedAt: held === null && runsHere(flux, record.state) ? env.now : undefined,
    updatedAt: env.now,
  }
  return {
    kind: 'next',
    record: next,
    log: [],
    step: held !== null || isLost(next) ? null : stepOf(next),
    child: null,
    abandonedChild: null,
    failure: null,
  }
}

const isLost = ({ lease }: ContextRecord): boolean => lease !== null && lease.takeovers > MAX_TAKEOVERS

/** The message to a context whose step was taken over too many times; null: the step may start. */
export function lossOf(record: ContextRecord): Input | null {
  const { lease } = record
  if (lease === null || !isLost(record)) return null
  const { epoch, attempt } = record.position
  return { type: 'FAIL', epoch, attempt, owner: lease.owner, error: LOST }
}

/** The failure of a step that blocked the event loop of a server until the server ended; null: it was not this step. */
export function blockOf(record: ContextRecord, { step, message, stack }: Standstill): Input | null {
  const { epoch, attempt } = record.position
  if (record.lease === null || step?.stepKey !== stepKeyIn(record) || step.attempt !== attempt) return null
  const type = 'EventLoopBlocked'
  const realException = { name: type, message, ...(stack !== '' && { stack }) }
  return {
    type: 'FAIL',
    epoch,
    attempt,
    owner: record.lease.owner,
    error: { message, type, className: type, realException, ...(stack !== '' && { stack }) },
  }
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
  const { lease, position } = record
  if (lease?.owner !== owner) return { kind: 'noop' }
  if (step && (step.epoch !== position.epoch || step.attempt !== position.attempt)) return { kind: 'noop' }
  const next = { ...record, lease: { ...lease, owner: UNOWNED }, stepStartedAt: undefined }
  return { kind: 'next', record: next, log: [], step: null, child: null, abandonedChild: null, failure: null }
}

/** Ends a context as failed. No transition is taken, and its data is not changed. */
export function endNow(
  flux: CompiledFlux,
  record: ContextRecord,
  error: ActionError,
  { now }: DecisionEnv,
  history: readonly Move[],
): Decision {
  const next: ContextRecord = {
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
  }
  return { kind: 'next', record: next, log: [], step: null, child: null, abandonedChild: record.child, failure: null }
}
