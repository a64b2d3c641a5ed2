// engine/record: a context as the API shows it, with its states and its step.
import type { CompiledAction, CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { describeValues } from '../../definitions/values/properties.ts'
import type { ContextView, StateContextView, StepView } from '../../api/contexts.ts'
import type { ModelDescriptor } from '../../model/context.ts'
import { getOwn, type Json } from '../../model/json/value.ts'
import {
  RETRY_EVENT,
  UNOWNED,
  type ContextRecord,
  type Move,
  type StateData,
  type StepError,
} from '../../model/record.ts'
import { redactorOf, type ContextRedactor } from '../redact/redactor.ts'
import { maxAttemptsOf } from '../interpreter/attempts.ts'
import { stepKeyIn, stepOf, type Step } from '../interpreter/position.ts'
import type { Relatives } from './relatives.ts'

const NO_DATA: StateData = { input: {}, output: {} }

/**
 * The start time of a step on this server, epoch milliseconds; null: it waits for a process; undefined: it is not on
 * this server.
 */
export type StartedAt = (step: Step) => number | null | undefined

/** What a view shows beside the record. */
export interface ViewEnv extends Relatives {
  /** The newest moves. */
  readonly moves: readonly Move[]
  readonly startedAt: StartedAt
  /** Epoch milliseconds. */
  readonly now: number
}

export function contextView(
  record: ContextRecord,
  flux: CompiledFlux,
  { moves: log, startedAt: stepStartedAt, now, parent, child }: ViewEnv,
): ContextView {
  const { id, version, status, tags, startedAt, updatedAt, endedAt, error, definition } = record
  const redactor = redactorOf(record, flux)
  return {
    fluxName: record.fluxName,
    id,
    currentState: nameOf(flux, record.state),
    startState: nameOf(flux, record.startState),
    waiting: status === 'WAITING' || status === 'WAITING_UNTIL',
    debugged: false,
    nextRun: record.due,
    status,
    input: withRequest(
      describeValues('input', flux.input, redactor.values(flux.input, record.input)),
      record.request && redactor.request(record.request),
    ),
    output: describeValues('output', flux.output, redactor.values(flux.output, record.output)),
    tags: tags.map((tag) => redactor.text(tag)),
    stateContexts: record.visited.flatMap((index) => {
      const state = flux.states[index]
      return state ? [stateShown({ record, flux, state, log, redactor })] : []
    }),
    executionHistory: log.map((move) => ({
      fluxName: record.fluxName,
      stateName: nameIn(record, flux, move.to),
      stateIndex: move.to,
      ...(isRetry(move) && { event: RETRY_EVENT }),
      enteredAt: move.at,
    })),
    package: record.package,
    version,
    startedAt,
    updatedAt,
    endedAt,
    error: error && redactor.error(error),
    definition,
    step: stepView(record, flux, stepStartedAt, redactor),
    parent,
    child,
    lastEvent: lastEventShown(record, redactor),
    pending: pendingShown(record, now),
    forkedFrom: null,
    paused: record.isPaused === true,
    key: record.key === null ? null : redactor.text(record.key),
  }
}

/** The view of a state of the definition. Its values are empty if it was not visited. */
export const stateView = (
  record: ContextRecord,
  flux: CompiledFlux,
  state: CompiledState,
  log: readonly Move[],
): StateContextView => stateShown({ record, flux, state, log, redactor: redactorOf(record, flux) })

interface Seen {
  readonly record: ContextRecord
  readonly flux: CompiledFlux
  readonly state: CompiledState
  readonly log: readonly Move[]
  readonly redactor: ContextRedactor
}

function stateShown({ record, flux, state, log, redactor }: Seen): StateContextView {
  const { index } = state
  const { input, output } = getOwn(record.states, String(index)) ?? NO_DATA
  return {
    name: state.name,
    input: describeValues('input', state.input, redactor.values(state.input, input)),
    output: describeValues('output', state.output, redactor.values(state.output, output)),
    transitionContexts: log
      .filter(({ from }) => from === index)
      .map(({ event, to, at, values }) => ({
        event: event === null ? null : redactor.text(event),
        to: nameIn(record, flux, to),
        takenAt: at,
        values: redactor.values(flux.states[to]?.input, values),
      })),
  }
}

/** The view of the step; null if none is in progress or waits for another attempt. */
function stepView(
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

function lastEventShown({ lastEvent }: ContextRecord, redactor: ContextRedactor): ContextView['lastEvent'] {
  if (!lastEvent) return null
  const { event, at, eventId } = lastEvent
  return { event: redactor.text(event), at, eventId }
}

const pendingShown = ({ id, fluxName, pending }: ContextRecord, now: number): ContextView['pending'] =>
  pending
    .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
    .map(({ eventId, event, tags, receivedAt, expiresAt }) => ({
      eventId,
      event,
      contextId: id,
      fluxName,
      tags: [...tags],
      receivedAt,
      expiresAt,
    }))

/** Adds the request of the webhook. */
function withRequest(input: ModelDescriptor, request: Json): ModelDescriptor {
  if (request === null) return input
  return {
    ...input,
    gloopProperties: [...input.gloopProperties, { name: '$request', type: 'object', value: request }],
  }
}

/** How the history shows a retry. A transition on an event of that name comes from a state. */
const isRetry = ({ from, event }: Move): boolean => from === null && event === RETRY_EVENT

/** Also of a state that the definition no longer has. */
const nameIn = ({ numbering }: ContextRecord, flux: CompiledFlux, index: number): string =>
  index < 0 ? (numbering?.former[-index - 1] ?? '') : nameOf(flux, index)

const nameOf = (flux: CompiledFlux, index: number): string => flux.states[index]?.name ?? ''
