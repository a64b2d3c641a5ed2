// engine/record: a context as the API shows it, with its states and its step.
import type { CompiledAction, CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { describeValues } from '../../definitions/values/properties.ts'
import type { ContextView, StateContextView } from '../../api/contexts.ts'
import { getOwn } from '../../model/json/value.ts'
import { dataKey, type ContextRecord, type Move, RETRY_EVENT, UNOWNED } from '../../model/context.ts'
import { redactorOf, type ContextRedactor } from '../redact/redactor.ts'
import { maxAttemptsOf, stepKeyIn, stepOf, type Step } from '../interpreter/position.ts'
import type { Relatives } from './relatives.ts'

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
  const { id, version, fluxName, status, tags, startedAt, updatedAt, endedAt, error, definition, lastEvent } = record
  const redactor = redactorOf(record, flux)
  const input = describeValues('input', flux.input, redactor.values(flux.input, record.input))
  if (record.request)
    input.gloopProperties.push({ name: '$request', type: 'object', value: redactor.request(record.request) })
  return {
    fluxName,
    id,
    currentState: nameOf(flux, record.state),
    startState: nameOf(flux, record.startState),
    waiting: status === 'WAITING' || status === 'WAITING_UNTIL',
    debugged: false,
    nextRun: record.due,
    status,
    input,
    output: describeValues('output', flux.output, redactor.values(flux.output, record.output)),
    tags: tags.map((tag) => redactor.text(tag)),
    stateContexts: record.visited.flatMap((index) => {
      const state = flux.states[index]
      return state ? [stateView(record, flux, state, log, redactor)] : []
    }),
    executionHistory: log.map(({ from, event, to, at }) => ({
      fluxName,
      stateName: to,
      stateIndex: flux.stateIndex.get(to) ?? -1,
      // A transition on an event of that name comes from a state.
      ...(from === null && event === RETRY_EVENT && { event }),
      enteredAt: at,
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
    lastEvent: lastEvent ? { ...lastEvent, event: redactor.text(lastEvent.event) } : null,
    pending: pendingShown(record, now),
    forkedFrom: null,
    paused: record.isPaused === true,
    key: record.key === null ? null : redactor.text(record.key),
  }
}

const pendingShown = ({ id, fluxName, pending }: ContextRecord, now: number) =>
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

/** The view of a state of the definition. Its values are empty if it was not visited. */
export function stateView(
  record: ContextRecord,
  flux: CompiledFlux,
  { index, name, ...shapes }: CompiledState,
  log: readonly Move[],
  redactor = redactorOf(record, flux),
): StateContextView {
  const { input = {}, output = {} } = getOwn(record.states, dataKey(index)) ?? {}
  return {
    name,
    input: describeValues('input', shapes.input, redactor.values(shapes.input, input)),
    output: describeValues('output', shapes.output, redactor.values(shapes.output, output)),
    transitionContexts: log
      .filter(({ from }) => from === name)
      .map(({ event, to, at, values }) => ({
        event: event === null ? null : redactor.text(event),
        to,
        takenAt: at,
        values: redactor.values(flux.states[flux.stateIndex.get(to) ?? -1]?.input, values),
      })),
  }
}

/** The view of the step; null if none is in progress or waits for another attempt. */
function stepView(record: ContextRecord, flux: CompiledFlux, startedAt: StartedAt, redactor: ContextRedactor) {
  const { phase, attempt } = record.position
  const state = flux.states[record.state]
  const action = state?.action
  if (!action || action.type === 'map' || (phase !== 'acting' && phase !== 'backoff')) return null
  const { lastError: error } = record
  const shown = (text: string) => redactor.logged.text(text)
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
    lastError: error
      ? {
          type: shown(error.type),
          message: shown(error.message),
          at: error.at,
          stack: error.stack === undefined ? null : shown(error.stack),
        }
      : null,
  }
}

/**
 * The start time. The server that runs the step knows it; for a step on another server, it is the time in the record.
 */
function beganAt(record: ContextRecord, startedAt: StartedAt) {
  const step = stepOf(record)
  const here = step && startedAt(step)
  return here === undefined || !step ? (record.stepStartedAt ?? null) : here
}

/** When the step times out. The timeout of a child is in the record, because a child outlives servers. */
function timeoutOf(record: ContextRecord, { effect, timeoutMs }: CompiledAction, began: number | null) {
  if (effect === 'child') return record.due
  return began === null || timeoutMs === null ? null : began + timeoutMs
}

const nameOf = (flux: CompiledFlux, index: number) => flux.states[index]?.name ?? ''
