// engine/interpreter: runs an event through the machine of a context, and turns the transition into a decision: the next
// record, and the step or child to start.
import { shortened } from '../../model/error-message.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import {
  dataKey,
  type BeforeEnd,
  type ContextRecord,
  isFinished,
  type Move,
  type Phase,
  type Status,
  type StepError,
} from '../../model/context.ts'
import { runsHere, stepOf } from './position.ts'
import type { Decision, DecisionEnv } from './decision.ts'
import { transition } from './machine.ts'
import { TIMED_OUT } from './reducers.ts'
import { NO_TURN, stateData, turnStateOf, type Happening, type TurnState } from './turn-state.ts'

/** A change of the record alone, with those moves. */
export const recordChange = (
  record: ContextRecord,
  log: readonly Move[] = [],
): Decision & { readonly kind: 'next' } => ({ kind: 'next', record, log, step: null, child: null, failure: null })

/** Runs one event through the machine. `turn`: what is there of the state of the turn at its beginning. */
export function transit(
  flux: CompiledFlux,
  record: ContextRecord,
  event: Happening & { readonly env: DecisionEnv },
  turn = NO_TURN,
): Decision {
  const { state, position } = record
  const made = transition(flux, position.phase, turnStateOf(record, turn), event)
  if (made === null) return { kind: 'noop' }
  const next = nextRecord(flux, record, event, made, event.env)
  const error = errorIn(event, record)
  return {
    kind: 'next',
    record: next,
    log: made.state.turn.history,
    step: stepOf(next),
    // The child of a paused context is started when it is resumed.
    child: made.phase === 'acting' && !record.isPaused ? childOf(flux, next) : null,
    failure: error && { state, attempt: position.attempt, error },
  }
}

/** Why the attempt that ends with the event has failed; null: it has not. */
const errorIn = (event: Happening, { position }: ContextRecord): ActionError | null => {
  if (event.type === 'FAIL') return event.error
  return event.type === 'WAKE' && position.phase === 'acting' ? TIMED_OUT : null
}

/** Maximum length of a message that is kept in the record or logged. */
const MAX_MESSAGE_CHARACTERS = 4096

export const messageStart = (text: string): string => shortened(text, MAX_MESSAGE_CHARACTERS)

const stepErrorOf = ({ type, message, stack }: ActionError, at: number): StepError => ({
  type: messageStart(type),
  message: messageStart(message),
  at,
  ...(stack !== undefined && { stack }),
})

type Made = NonNullable<ReturnType<typeof transition>>

/**
 * The record after a transition; of a context that has ended, without a due time, since nothing may wake it.
 * Each field is named, in the same order in all functions that create records: a record is made for each event, and a
 * spread takes twenty times as long.
 */
function nextRecord(flux: CompiledFlux, record: ContextRecord, event: Happening, made: Made, env: DecisionEnv) {
  const { phase, state } = made
  const { data, turn, due, moves, epoch, attempt, pick } = state
  const effect = phase === 'acting' ? flux.states[data.state]?.action.effect : null
  const startsHere = effect === 'child' ? !record.isPaused : effect === 'step' && runsHere(flux, data.state)
  const error = errorIn(event, record)
  const isTried = epoch === record.position.epoch && (phase === 'acting' || phase === 'backoff')
  const status = statusOf(phase, due)
  const isEnd = isFinished(status)
  const isPausedFirst = record.request !== null && (status === 'WAITING' || status === 'WAITING_UNTIL')
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
    updatedAt: env.now,
    endedAt: isEnd ? env.now : null,
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
    child: null,
    lease: effect === 'step' ? { owner: env.owner, takeovers: 0 } : null,
    stepStartedAt: startsHere ? env.now : undefined,
    lastError: !isTried ? undefined : error ? stepErrorOf(error, env.now) : record.lastError,
    lastEvent:
      event.type === 'EVENT' ? { event: event.name, at: env.now, eventId: event.eventId ?? '' } : record.lastEvent,
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
    beforeEnd: phase === 'failed' || phase === 'terminated' ? beforeEndOf(record, state) : undefined,
    paused: record.paused ?? (isPausedFirst ? status : undefined),
    response: data.response,
    pending: record.pending,
    args: data.args,
    states: data.states,
  }
}

const STATUS_IN: { readonly [phase in Phase]?: Status } = {
  completed: 'COMPLETED',
  failed: 'FAILED',
  terminated: 'TERMINATED',
  delayed: 'WAITING_UNTIL',
}

/** The status of a context in that phase. */
export function statusOf(phase: Phase, due: number | null): Status {
  if (phase === 'waiting') return due === null ? 'WAITING' : 'WAITING_UNTIL'
  return STATUS_IN[phase] ?? 'RUNNING'
}

/** The child that the state of that record starts. */
export function childOf(flux: CompiledFlux, { state, args }: ContextRecord) {
  const action = flux.states[state]?.action
  return action?.child == null ? null : { name: action.child, input: args ?? {} }
}

/** What was otherwise before. Data is replaced and never changed, so what is the same object is the same. */
function beforeEndOf({ position, due }: ContextRecord, { data: after, turn }: TurnState): BeforeEnd {
  const before = turn.dataBeforeAction
  if (before === null) return { phase: position.phase, due }
  const { state } = before
  const old = stateData(before, state)
  const names = ['fluxEvent', 'output', 'answer', 'response', 'args'] as const
  const changed = names.flatMap((name) => (before[name] === after[name] ? [] : [[name, before[name]] as const]))
  return {
    phase: 'acting',
    due: null,
    data: { ...Object.fromEntries(changed), ...(old !== stateData(after, state) && { state: old }) },
  }
}

/** The record with its data as it was before the end. */
export function dataBeforeEnd(record: ContextRecord): ContextRecord {
  const { data } = record.beforeEnd ?? {}
  if (!data) return record
  const { state, ...others } = data
  const states = state === undefined ? record.states : { ...record.states, [dataKey(record.state)]: state }
  return { ...record, ...others, states }
}
