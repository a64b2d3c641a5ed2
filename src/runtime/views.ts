// runtime: a context as the API shows it.
import type { CompiledFlux, CompiledState } from '../definitions/flux.ts'
import { describe } from '../definitions/properties.ts'
import type { ContextView, ModelDescriptor, StateContextView } from '../model/context.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../model/json.ts'
import type { ContextRecord, Move, StateData } from '../model/record.ts'

const NO_DATA: StateData = { input: {}, output: {} }

export function contextView(record: ContextRecord, flux: CompiledFlux, log: readonly Move[]): ContextView {
  const { id, version, status, tags, startedAt, updatedAt, endedAt, error, definition } = record
  return {
    fluxName: record.fluxName,
    id,
    currentState: nameOf(flux, record.state),
    startState: nameOf(flux, record.startState),
    waiting: status === 'WAITING' || status === 'WAITING_UNTIL',
    debugged: false,
    nextRun: record.due,
    status,
    input: record.request === null ? describe('input', flux.input, record.input) : withRequest(describe('input', flux.input, record.input), record.request),
    output: describe('output', flux.output, record.output),
    tags: [...tags],
    stateContexts: record.visited.flatMap((index) => {
      const state = flux.states[index]
      return state ? [stateView(record, flux, state, log)] : []
    }),
    executionHistory: log.map(({ to, at }) => ({ fluxName: record.fluxName, stateName: nameOf(flux, to), stateIndex: to, enteredAt: at })),
    package: record.package,
    version, startedAt, updatedAt, endedAt, error, definition,
  }
}

/** Of any state of the definition: its values are empty if it was not visited. */
export function stateView(record: ContextRecord, flux: CompiledFlux, state: CompiledState, log: readonly Move[]): StateContextView {
  const { input, output } = getOwn(record.states, String(state.index)) ?? NO_DATA
  return {
    name: state.name,
    input: describe('input', state.input, input),
    output: describe('output', state.output, output),
    transitionContexts: log
      .filter(({ from }) => from === state.index)
      .map(({ event, to, at, values }) => ({ event, to: nameOf(flux, to), takenAt: at, values })),
  }
}

/** With what the webhook was sent, and nothing of it that lets others in. */
function withRequest(input: ModelDescriptor, request: JsonObject): ModelDescriptor {
  return { ...input, gloopProperties: [...input.gloopProperties, { name: '$request', type: 'object', value: redacted(request) }] }
}

const REDACTED = '[redacted]'
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

const hide = (list: Json | undefined, isSecret: (name: string) => boolean): Json[] => (Array.isArray(list) ? list : [])
  .map((entry) => (isObject(entry) && isSecret(String(entry['name']).toLowerCase()) ? { ...entry, value: REDACTED } : entry))

function redacted(request: JsonObject): JsonObject {
  const { headers, cookies } = request
  return { ...request, headers: hide(headers, (name) => SECRET_HEADERS.has(name)), cookies: hide(cookies, () => true) }
}

const nameOf = (flux: CompiledFlux, index: number): string => flux.states[index]?.name ?? ''
