// engine/record: a context as the API shows it.
import type { CompiledFlux, CompiledState } from '../../definitions/flux.ts'
import { describeValues } from '../../definitions/values/properties.ts'
import type { ContextView } from '../../api/get-context.ts'
import type { StateContextView } from '../../api/get-state.ts'
import type { ModelDescriptor } from '../../model/context.ts'
import { getOwn, setOwn, type JsonObject } from '../../model/json/value.ts'
import { RETRY_EVENT, type ContextRecord, type Move, type StateData } from '../../model/record.ts'
import type { OriginPlace } from '../../definitions/compile/origins.ts'
import { redactorOf, type Redactor } from '../redact/redactor.ts'
import { requestShown } from '../redact/request.ts'
import type { Relatives } from './relatives.ts'
import { stepView, type StartedAt } from './step-view.ts'

const NO_DATA: StateData = { input: {}, output: {} }

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
      shown(describeValues('input', flux.input, record.input), redactor, (name) => ({ of: 'input', name })),
      record.request,
    ),
    output: shown(describeValues('output', flux.output, record.output), redactor, (name) => ({ of: 'output', name })),
    tags: tags.map((tag) => redactor.text({ of: 'tags' }, tag)),
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
    key: record.key === null ? null : redactor.text({ of: 'key' }, record.key),
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
  readonly redactor: Redactor
}

function stateShown({ record, flux, state, log, redactor }: Seen): StateContextView {
  const { index } = state
  const { input, output } = getOwn(record.states, String(index)) ?? NO_DATA
  return {
    name: state.name,
    input: shown(describeValues('input', state.input, input), redactor, (name) => ({ of: 'stateInput', index, name })),
    output: shown(describeValues('output', state.output, output), redactor, (name) => ({
      of: 'stateOutput',
      index,
      name,
    })),
    transitionContexts: log
      .filter(({ from }) => from === index)
      .map(({ event, to, at, values }) => ({
        event: event === null ? null : redactor.text({ of: 'event' }, event),
        to: nameIn(record, flux, to),
        takenAt: at,
        values: valuesShown(values, to, redactor),
      })),
  }
}

function lastEventShown({ lastEvent }: ContextRecord, redactor: Redactor): ContextView['lastEvent'] {
  if (!lastEvent) return null
  const { event, at, eventId } = lastEvent
  return { event: redactor.text({ of: 'event' }, event), at, eventId }
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
function withRequest(input: ModelDescriptor, request: JsonObject | null): ModelDescriptor {
  if (request === null) return input
  return {
    ...input,
    gloopProperties: [...input.gloopProperties, { name: '$request', type: 'object', value: requestShown(request) }],
  }
}

/** Redacts the values. The declarations around them are not data of users. */
function shown(model: ModelDescriptor, redactor: Redactor, placeOf: (name: string) => OriginPlace): ModelDescriptor {
  for (const property of model.gloopProperties) {
    const value = property['value'] ?? null
    const redacted = redactor.value(placeOf(String(property['name'])), value)
    if (redacted !== value) property['value'] = redacted
  }
  return model
}

/** Redacts what the lines of a transition carried to the inputs of its target. */
function valuesShown(values: JsonObject, index: number, redactor: Redactor): JsonObject {
  const copy: JsonObject = {}
  for (const name of Object.keys(values))
    setOwn(copy, name, redactor.value({ of: 'stateInput', index, name }, values[name] ?? null))
  return copy
}

/** How the history shows a retry. A transition on an event of that name comes from a state. */
const isRetry = ({ from, event }: Move): boolean => from === null && event === RETRY_EVENT

/** Also of a state that the definition no longer has. */
const nameIn = ({ numbering }: ContextRecord, flux: CompiledFlux, index: number): string =>
  index < 0 ? (numbering?.former[-index - 1] ?? '') : nameOf(flux, index)

const nameOf = (flux: CompiledFlux, index: number): string => flux.states[index]?.name ?? ''
