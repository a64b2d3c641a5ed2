// runtime: a context as the API shows it.
import type { CompiledFlux, CompiledState } from '../definitions/flux.ts'
import { describe } from '../definitions/properties.ts'
import type { ContextView, FluxException, ModelDescriptor, StateContextView } from '../model/context.ts'
import { getOwn, type JsonObject } from '../model/json.ts'
import type { ContextRecord, Move, StateData } from '../model/record.ts'
import { hiderOf, type Hider } from './redact.ts'
import { stepView, type StartedAt } from './step-view.ts'

const NO_DATA: StateData = { input: {}, output: {} }

export function contextView(record: ContextRecord, flux: CompiledFlux, log: readonly Move[], stepStartedAt: StartedAt): ContextView {
  const { id, version, status, tags, startedAt, updatedAt, endedAt, error, definition } = record
  const hider = hiderOf(record)
  return {
    fluxName: record.fluxName,
    id,
    currentState: nameOf(flux, record.state),
    startState: nameOf(flux, record.startState),
    waiting: status === 'WAITING' || status === 'WAITING_UNTIL',
    debugged: false,
    nextRun: record.due,
    status,
    input: shown(withRequest(describe('input', flux.input, record.input), record.request), hider),
    output: shown(describe('output', flux.output, record.output), hider),
    tags: tags.map(hider.text),
    stateContexts: record.visited.flatMap((index) => {
      const state = flux.states[index]
      return state ? [stateShown({ record, flux, state, log, hider })] : []
    }),
    executionHistory: log.map(({ to, at }) => ({ fluxName: record.fluxName, stateName: nameOf(flux, to), stateIndex: to, enteredAt: at })),
    package: record.package,
    version, startedAt, updatedAt, endedAt, error: error && errorShown(error, hider), definition,
    step: stepView(record, flux, stepStartedAt, hider),
  }
}

/** Of any state of the definition: its values are empty if it was not visited. */
export const stateView = (record: ContextRecord, flux: CompiledFlux, state: CompiledState, log: readonly Move[]): StateContextView =>
  stateShown({ record, flux, state, log, hider: hiderOf(record) })

interface Seen { readonly record: ContextRecord; readonly flux: CompiledFlux; readonly state: CompiledState; readonly log: readonly Move[]; readonly hider: Hider }

function stateShown({ record, flux, state, log, hider }: Seen): StateContextView {
  const { input, output } = getOwn(record.states, String(state.index)) ?? NO_DATA
  return {
    name: state.name,
    input: shown(describe('input', state.input, input), hider),
    output: shown(describe('output', state.output, output), hider),
    transitionContexts: log
      .filter(({ from }) => from === state.index)
      .map(({ event, to, at, values }) => ({ event: textShown(event, hider), to: nameOf(flux, to), takenAt: at, values: hider.object(values) })),
  }
}

/** With what the webhook was sent. */
const withRequest = (input: ModelDescriptor, request: JsonObject | null): ModelDescriptor =>
  (request === null ? input : { ...input, gloopProperties: [...input.gloopProperties, { name: '$request', type: 'object', value: request }] })

const shown = (model: ModelDescriptor, hider: Hider): ModelDescriptor => ({ ...model, gloopProperties: hider.list(model.gloopProperties) })

const errorShown = (error: FluxException, hider: Hider): FluxException =>
  ({
    ...error, message: hider.text(error.message), type: hider.text(error.type), className: hider.text(error.className),
    realException: hider.object({ it: error.realException })['it'] ?? null,
    fluxStackTrace: error.fluxStackTrace.map((entry) => ({ ...entry, transition: textShown(entry.transition, hider) })),
  })

const textShown = (text: string | null, hider: Hider): string | null => text === null ? null : hider.text(text)

const nameOf = (flux: CompiledFlux, index: number): string => flux.states[index]?.name ?? ''
