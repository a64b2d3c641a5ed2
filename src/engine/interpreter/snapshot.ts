// engine/interpreter: the snapshot of a context, as XState would persist it, and the way back from it. The engine writes
// it itself, because XState's `getPersistedSnapshot` changes data that looks like an actor.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ActionError } from '../../model/action-error.ts'
import { isObject, setOwn, type JsonObject } from '../../model/json/value.ts'
import { dataKey, type ContextRecord, type Phase, type StateData } from '../../model/context.ts'
import { redactorOf, type ContextRedactor } from '../redact/redactor.ts'
import { errorOf } from './exception.ts'
import { positionIn, valueOf } from './nodes.ts'
import { NO_TURN, stateData, turnStateOf, type TurnState } from './turn-state.ts'

/** The snapshot, redacted. `childName`: package and name of the service of its child. */
export function snapshotOf(record: ContextRecord, flux: CompiledFlux, childName: string | null): JsonObject {
  const { phase } = record.position
  const redactor = redactorOf(record, flux)
  const children: JsonObject = {}
  if (record.child !== null) children[String(record.child)] = childReference(childName ?? '')
  return {
    ...shownOf(flux, phase, turnStateOf(record), redactor),
    value: valueOf(flux, phase, record.state),
    historyValue: {},
    children,
    ...(record.error !== null && { error: { ...redactor.error(record.error) } }),
  }
}

/** A child as XState's persisted reference to an actor. */
export const childReference = (name: string): JsonObject => ({ src: name, snapshot: null, syncSnapshot: false })

type SnapshotStatus = 'active' | 'done' | 'error' | 'stopped'
const ENDED: { readonly [phase in Phase]?: SnapshotStatus } = {
  completed: 'done',
  failed: 'error',
  terminated: 'stopped',
}

/**
 * What the snapshot shows of the state of a turn. `context`: the data, by names. `registers`: what the next moves need
 * besides, and most contexts do not have; only what is needed is there, and the field is left out if nothing is.
 */
export function shownOf(
  flux: CompiledFlux,
  phase: Phase,
  { data, epoch, attempt, due, moves, pick }: TurnState,
  redactor: ContextRedactor,
) {
  const status: SnapshotStatus = ENDED[phase] ?? 'active'
  const states: JsonObject = {}
  for (const index of data.visited) {
    const state = flux.states[index]
    const { input, output } = stateData(data, index)
    if (state === undefined) continue
    const shown = { input: redactor.values(state.input, input), output: redactor.values(state.output, output) }
    setOwn(states, state.name, shown)
  }
  const input = { ...redactor.values(flux.input, data.input) }
  if (data.request !== null) setOwn(input, '$request', redactor.request(data.request))
  const { trigger, response, exception } = data
  const registers: JsonObject = {
    ...(flux.text.includes('$fluxContextId') && { contextId: data.id }),
    ...(flux.text.includes('$fluxName') && { fluxName: data.fluxName }),
    ...(typeof pick === 'number' && pick !== soleTimed(flux, phase, data.state) && { pick }),
    ...(trigger !== null && { trigger }),
    ...(response !== null && { response: redactor.json(response) }),
    ...(phase === 'delayed' && exception !== null && { exception: { ...redactor.error(exception) } }),
  }
  return {
    status,
    context: {
      input,
      output: redactor.values(flux.output, data.output),
      fluxEvent: redactor.json(data.fluxEvent),
      trackerId: redactor.text(data.trackerId),
      states,
      epoch,
      attempt,
      due: status === 'active' ? due : null,
      moves,
    },
    ...(status === 'active' && Object.keys(registers).length > 0 && { registers }),
  }
}

/** The transition that is taken when the time comes, where there can be only one; null: there are others. */
function soleTimed({ states }: CompiledFlux, phase: Phase, index: number): number | null {
  const { choice, transitions = [] } = states[index] ?? {}
  const timed = phase === 'delayed' ? transitions.map((_, pick) => pick) : phase === 'waiting' ? choice?.timed : null
  const [first = null, ...others] = timed ?? []
  return others.length === 0 ? first : null
}

/** The state of a turn that begins with that snapshot. What is missing in it counts as empty. */
export function turnStateFrom(flux: CompiledFlux, snapshot: { readonly [field: string]: unknown }): TurnState {
  const { phase, state } = positionIn(flux, snapshot['value'])
  const { input: shown, output, fluxEvent = null, trackerId, states: byName, ...counts } = objectOf(snapshot['context'])
  const { contextId, fluxName, trigger, response, exception, pick } = objectOf(snapshot['registers'])
  const states: { [key: string]: StateData } = {}
  const visited: number[] = []
  for (const [name, data] of Object.entries(objectOf(byName))) {
    const index = flux.stateIndex.get(name)
    if (index === undefined) continue
    const { input, output } = objectOf(data)
    states[dataKey(index)] = { input: objectOf(input), output: objectOf(output) }
    visited.push(index)
  }
  const { $request: request, ...input } = objectOf(shown)
  const isDeclared = flux.input.properties.has('$request')
  const { due } = counts
  return {
    data: {
      id: numberOf(contextId, 0),
      fluxName: typeof fluxName === 'string' ? fluxName : flux.fluxName,
      trigger: typeof trigger === 'string' ? trigger : null,
      trackerId: String(trackerId ?? ''),
      input: isDeclared ? objectOf(shown) : input,
      output: objectOf(output),
      states,
      fluxEvent,
      request: isDeclared || !isObject(request) ? null : request,
      answer: null,
      response: isObject(response) ? response : null,
      // Later attempts use the arguments of the first, which a snapshot does not show.
      args: phase === 'acting' || phase === 'backoff' ? {} : null,
      state,
      visited,
      exception: isObject(exception) ? { ...errorFrom(exception), fluxStackTrace: [] } : null,
      moves: 0,
    },
    moves: numberOf(counts['moves'], 0),
    epoch: numberOf(counts['epoch'], 0),
    attempt: numberOf(counts['attempt'], 1),
    due: typeof due === 'number' ? due : null,
    pick: typeof pick === 'number' ? pick : soleTimed(flux, phase, state),
    turn: NO_TURN,
  }
}

/** An error as data, also one that has only some of the fields, or was thrown. */
export function errorFrom(error: unknown): ActionError {
  if (error instanceof Error || !isObject(error) || typeof error['message'] !== 'string') return errorOf(error)
  const { message, type = 'Error', className = type, realException = { name: type, message }, retry } = error
  const afterMs = isObject(retry) ? retry['afterMs'] : undefined
  return {
    message,
    type: String(type),
    className: String(className),
    realException,
    ...((afterMs === null || typeof afterMs === 'number') && { retry: { afterMs } }),
  }
}

const objectOf = (value: unknown) => (isObject(value) ? value : {})
export const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)
