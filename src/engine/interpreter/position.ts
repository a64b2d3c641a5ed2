// engine/interpreter: the step of a context, derived from its record.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { type ContextId, type ContextRecord, type StepKind, readyOwner, UNOWNED } from '../../model/context.ts'
import { stepKeyOf } from '../../model/standstill.ts'

/** Identifies the attempt of a step that a result is of. */
export interface StepAnswer {
  readonly epoch: number
  readonly attempt: number
  /** Boot id of the server that the step was leased to when it started; left out: any, or the end of a child. */
  readonly owner?: string
}

/** Identifies a step. Its data is in the record. */
export interface Step extends Required<StepAnswer> {
  readonly id: ContextId
  readonly state: number
}

/** The step in progress, whether it runs or is ready; null: there is none. */
export function stepOf({ id, state, lease, position: { epoch, attempt } }: ContextRecord): Step | null {
  return lease && { id, state, epoch, attempt, owner: lease.owner }
}

/** Whether the context of that record is at that attempt. */
export const isAt = ({ epoch, attempt, owner }: StepAnswer, { position, lease }: ContextRecord): boolean =>
  position.epoch === epoch && position.attempt === attempt && (owner === undefined || owner === lease?.owner)

/** The key under which external systems know the step of that record; the same in all its attempts. */
export const stepKeyIn = ({ id, keyEpoch, position }: ContextRecord): string =>
  stepKeyOf(id, keyEpoch ?? position.epoch)

/** The kind of slot that the step of that state needs. */
export function stepKindOf({ states }: CompiledFlux, state: number): StepKind {
  const action = states[state]?.action
  return action?.script != null ? 'script' : action?.code?.isolate ? 'isolated' : 'code'
}

/**
 * The owner under which the store lists the context. A step that is held by a pause is not listed: no server is to start
 * it.
 */
export function ownerOf({ lease, state, isPaused }: ContextRecord, flux: CompiledFlux): string | null {
  if (lease === null || (isPaused && lease.owner === UNOWNED)) return null
  return lease.owner === UNOWNED ? readyOwner(stepKindOf(flux, state)) : lease.owner
}

/** The maximum number of attempts of the action of a state. A child has one attempt. */
export const maxAttemptsOf = ({ states }: CompiledFlux, state: number): number =>
  states[state]?.action.retry.maxAttempts ?? 1

/** Whether the step of that state is a function that runs in the server's own process. */
export const runsHere = ({ states }: CompiledFlux, state: number): boolean =>
  states[state]?.action.code?.isolate === false
