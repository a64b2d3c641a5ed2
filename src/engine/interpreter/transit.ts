// engine/interpreter: runs an event through the machine of a context, and turns the transition into a decision: the next
// record, the step or child to start, and the child to cancel.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { WorkBudget } from '../../definitions/work-budget.ts'
import { isFinished, type Status } from '../../model/context.ts'
import type { BeforeEnd, ContextRecord, Lease, Move, Phase } from '../../model/record.ts'
import { runsHere, stepOf } from './position.ts'
import { errorAfter, failureOf } from './attempts.ts'
import { NeedsHistory } from './choose.ts'
import type { Decision, DecisionEnv } from './decision.ts'
import { transition } from './machine.ts'
import type { MachineTransition } from './machine-walk.ts'
import { stateData, turnStateOf, type Data, type MachineEvent, type TurnState } from './turn-state.ts'

/** Runs one event through the machine. `lastEvent`: that of the context, if the event has an effect. */
export const transit = (
  flux: CompiledFlux,
  record: ContextRecord,
  event: MachineEvent,
  env: DecisionEnv,
  lastEvent = record.lastEvent,
): Decision =>
  transitFrom(flux, { record, phase: record.position.phase, state: turnStateOf(record), lastEvent }, event, env)

interface From {
  readonly record: ContextRecord
  /** Phase of the machine. */
  readonly phase: Phase
  readonly state: TurnState
  readonly lastEvent: ContextRecord['lastEvent']
}

/** The same from another phase, or state of the turn, than those of the record. */
export function transitFrom(
  flux: CompiledFlux,
  { record, phase, state, lastEvent }: From,
  event: MachineEvent,
  env: DecisionEnv,
): Decision {
  const history = env.history ?? (record.moves === record.tail.length ? record.tail : null)
  try {
    const reducerEnv = { turn: env, budget: env.budget ?? new WorkBudget(), history }
    const made = transition(flux, phase, state, { ...event, env: reducerEnv })
    return conclude({ flux, record, event, lastEvent }, made, env)
  } catch (error) {
    if (error instanceof NeedsHistory) return { kind: 'needsHistory' }
    throw error
  }
}

/** A change of the record alone, with those moves. */
export const recordChange = (
  record: ContextRecord,
  log: readonly Move[] = [],
): Decision & { readonly kind: 'next' } => ({
  kind: 'next',
  record,
  log,
  step: null,
  child: null,
  abandonedChild: null,
  failure: null,
})

export const conflicting = (detail: string): Decision => ({ kind: 'refused', failure: { kind: 'conflict', detail } })

/** An event of the machine, and the context that received it. */
interface Received {
  readonly flux: CompiledFlux
  readonly record: ContextRecord
  readonly event: MachineEvent
  /** The last one of a sender, if this event has an effect. */
  readonly lastEvent: ContextRecord['lastEvent']
}

/** Turns a transition of the machine into a decision. `made`: null if the event had no effect. */
function conclude(
  { flux, record, event, lastEvent }: Received,
  made: MachineTransition | null,
  { now, owner }: DecisionEnv,
): Decision {
  if (!made) return { kind: 'noop' }
  const { phase, effect, state } = made
  const acting = phase === 'acting'
  const begins = acting && effect === 'step'
  const awaits = acting && flux.states[state.data.state]?.action.effect === 'child'
  const invokes = awaits && effect === 'child'
  // The child of a paused context is started when it is resumed.
  const isHeld = invokes && record.isPaused === true
  const failure = failureOf(flux, record, event.type === 'FAIL' ? event.error : state.turn.stepError)
  const startsNow = (invokes && !isHeld) || (begins && runsHere(flux, state.data.state))
  const startsLater = isHeld || (begins && !startsNow)
  const next = nextRecord(record, made, {
    now,
    child: awaits && !invokes ? record.child : null,
    lease: acting && !awaits ? leaseOf(record, owner, begins) : null,
    stepStartedAt: !acting || startsLater ? undefined : startsNow ? now : record.stepStartedAt,
    lastError: acting || phase === 'backoff' ? errorAfter(record, state.epoch, failure, now) : undefined,
    lastEvent,
    beforeEnd: beforeEndOf(record, made),
  })
  return {
    kind: 'next',
    record: next,
    log: state.turn.history,
    step: begins ? stepOf(next) : null,
    child: invokes && !isHeld ? childOf(flux, next) : null,
    abandonedChild: record.child !== next.child ? record.child : null,
    failure,
  }
}

type Running = Pick<ContextRecord, 'child' | 'lease' | 'stepStartedAt' | 'lastError' | 'lastEvent' | 'beforeEnd'> & {
  readonly now: number
}

/**
 * Each field is named, in the same order in all functions that create records. Records are copied and read for each
 * event, and spreading two objects is ten times as slow.
 */
function nextRecord(
  record: ContextRecord,
  { phase, state: { data, turn, moves, epoch, attempt, pick, due } }: MachineTransition,
  { now, child, lease, stepStartedAt, lastError, lastEvent, beforeEnd }: Running,
): ContextRecord {
  const status = statusOf(phase, due)
  const isEnd = isFinished(status)
  return {
    id: record.id,
    version: record.version,
    package: record.package,
    fluxName: record.fluxName,
    definition: record.definition,
    status,
    state: data.state,
    startState: record.startState,
    startedAt: record.startedAt,
    updatedAt: now,
    endedAt: isEnd ? now : null,
    // A context that has ended must not be woken.
    due: isEnd ? null : due,
    tags: record.tags,
    error: turn.contextError,
    exception: data.exception,
    fluxEvent: data.fluxEvent,
    trigger: record.trigger,
    trackerId: record.trackerId,
    key: record.key,
    answerRows: record.answerRows,
    parent: record.parent,
    child,
    lease,
    stepStartedAt,
    lastError,
    lastEvent,
    traceparent: record.traceparent,
    moves: data.moves,
    tail: record.tail,
    visited: data.visited,
    position: { phase, moves, epoch, attempt, pick },
    input: data.input,
    output: data.output,
    request: data.request,
    inheritedSecrets: record.inheritedSecrets,
    raw: record.raw,
    answer: data.answer,
    isPaused: isEnd ? undefined : record.isPaused,
    retries: record.retries,
    keyEpoch: epoch === record.position.epoch ? record.keyEpoch : undefined,
    beforeEnd,
    paused:
      record.paused ??
      (record.request !== null && (status === 'WAITING' || status === 'WAITING_UNTIL') ? status : undefined),
    response: data.response,
    pending: record.pending,
    args: data.args,
    states: data.states,
  }
}

function statusOf(phase: Phase, due: number | null): Status {
  switch (phase) {
    case 'completed':
      return 'COMPLETED'
    case 'failed':
      return 'FAILED'
    case 'terminated':
      return 'TERMINATED'
    case 'waiting':
      return due === null ? 'WAITING' : 'WAITING_UNTIL'
    case 'delayed':
      return 'WAITING_UNTIL'
    default:
      return 'RUNNING'
  }
}

/** A step that starts is leased to this server. A step that continues keeps its lease. */
function leaseOf(record: ContextRecord, owner: string, starts: boolean): Lease {
  return starts || !record.lease ? { owner, takeovers: 0 } : record.lease
}

/** The child that the state of that record starts. */
export function childOf(flux: CompiledFlux, { state, args }: ContextRecord) {
  const action = flux.states[state]?.action
  return action?.child == null ? null : { name: action.child, input: args ?? {} }
}

/** undefined: the context has not ended, or has completed, which nobody retries. */
function beforeEndOf(record: ContextRecord, { phase, state }: MachineTransition): BeforeEnd | undefined {
  if (phase !== 'failed' && phase !== 'terminated') return undefined
  const { dataBeforeAction } = state.turn
  if (dataBeforeAction === null) return { phase: record.position.phase, due: record.due }
  return { phase: 'acting', due: null, data: changesSince(dataBeforeAction, state.data) }
}

/** What was otherwise before. Data is replaced and never changed, so what is the same object is the same. */
function changesSince(before: Data, after: Data): NonNullable<BeforeEnd['data']> {
  const old = stateData(before, before.state)
  return {
    ...(before.fluxEvent !== after.fluxEvent && { fluxEvent: before.fluxEvent }),
    ...(before.output !== after.output && { output: before.output }),
    ...(before.answer !== after.answer && { answer: before.answer }),
    ...(before.response !== after.response && { response: before.response }),
    ...(before.args !== after.args && { args: before.args }),
    ...(old !== stateData(after, before.state) && { state: old }),
  }
}

/** The record with its data as it was before the end. */
export function dataBeforeEnd(record: ContextRecord): ContextRecord {
  const { data } = record.beforeEnd ?? {}
  if (!data) return record
  const { state, ...others } = data
  const states = state === undefined ? record.states : { ...record.states, [record.state]: state }
  return { ...record, ...others, states }
}
