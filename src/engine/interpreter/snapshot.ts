// engine/interpreter: the snapshot of a context, as XState would persist it, and the way back from it. The engine writes
// it itself, because XState's `getPersistedSnapshot` changes data that looks like an actor.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { Shape } from '../../definitions/values/properties.ts'
import type { FluxException } from '../../model/context.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import type { ContextRecord, Phase, StateData } from '../../model/record.ts'
import { redactorOf, type ContextRedactor } from '../redact/redactor.ts'
import { nodeName, phaseOf, valueOf } from './nodes.ts'
import { NO_TURN, turnStateOf, type Data, type TurnState } from './turn-state.ts'

/** The data that the snapshot shows of a context, by names. */
export type PlainContext = {
  input: JsonObject
  output: JsonObject
  fluxEvent: Json
  trackerId: string
  /** Data of the visited states, by their names. */
  states: JsonObject
  /** Number of state entries so far: results of earlier ones have no effect. */
  epoch: number
  attempt: number
  /** Epoch milliseconds. */
  due: number | null
  /** Number of moves since the last pause or step. */
  moves: number
}

/** The status of the snapshot of a context in that phase. */
export function snapshotStatusOf(phase: Phase): 'active' | 'done' | 'error' | 'stopped' {
  switch (phase) {
    case 'completed':
      return 'done'
    case 'failed':
      return 'error'
    case 'terminated':
      return 'stopped'
    default:
      return 'active'
  }
}

/** The snapshot, redacted. `childName`: package and name of the service of its child. */
export function snapshotOf(record: ContextRecord, flux: CompiledFlux, childName: string | null): JsonObject {
  const { phase } = record.position
  const redactor = redactorOf(record, flux)
  const state = turnStateOf(record)
  const children: JsonObject = {}
  if (record.child !== null) children[String(record.child)] = childReference(childName ?? '')
  return {
    status: snapshotStatusOf(phase),
    value: valueOf(flux, phase, record.state),
    historyValue: {},
    context: plainContextOf(flux, state, redactor),
    children,
    ...(record.error !== null && { error: { ...redactor.error(record.error) } }),
    ...registersOf(flux, phase, state, redactor),
  }
}

/** A child as XState's persisted reference to an actor. */
export const childReference = (name: string): JsonObject => ({ src: name, snapshot: null, syncSnapshot: false })

/** `redactor` null: nothing is hidden. */
export function plainContextOf(flux: CompiledFlux, state: TurnState, redactor: ContextRedactor | null): PlainContext {
  const { data, epoch, attempt, due, moves } = state
  const shown = (shape: Shape, values: JsonObject) => redactor?.values(shape, values) ?? { ...values }
  const states: JsonObject = {}
  for (const index of data.visited) {
    const state = flux.states[index]
    const { input, output }: StateData = getOwn(data.states, String(index)) ?? { input: {}, output: {} }
    if (state === undefined) continue
    setOwn(states, state.name, { input: shown(state.input, input), output: shown(state.output, output) })
  }
  const input = shown(flux.input, data.input)
  if (data.request !== null) setOwn(input, '$request', redactor?.request(data.request) ?? data.request)
  return {
    input,
    output: shown(flux.output, data.output),
    fluxEvent: redactor?.json(data.fluxEvent) ?? data.fluxEvent,
    trackerId: redactor?.text(data.trackerId) ?? data.trackerId,
    states,
    epoch,
    attempt,
    due,
    moves,
  }
}

/**
 * The field `registers` of a snapshot: what the next moves need besides its context, and most contexts do not have. Only
 * what is needed is there; the field is left out if nothing is.
 */
export function registersOf(
  flux: CompiledFlux,
  phase: Phase,
  { data, pick }: TurnState,
  redactor: ContextRedactor | null,
): { registers?: JsonObject } {
  if (snapshotStatusOf(phase) !== 'active') return {}
  const { id, fluxName, state, trigger, response, exception } = data
  const registers: JsonObject = {
    ...(flux.text.includes('$fluxContextId') && { contextId: id }),
    ...(flux.text.includes('$fluxName') && { fluxName }),
    ...(typeof pick === 'number' && pick !== soleTimed(flux, phase, state) && { pick }),
    ...(trigger !== null && { trigger }),
    ...(response !== null && { response: redactor?.json(response) ?? response }),
    ...(phase === 'delayed' && exception !== null && { exception: { ...(redactor?.error(exception) ?? exception) } }),
  }
  return Object.keys(registers).length > 0 ? { registers } : {}
}

/** The transition that is taken when the time comes, where there can be only one; null: there are others. */
function soleTimed({ states }: CompiledFlux, phase: Phase, index: number): number | null {
  const state = states[index]
  if (phase === 'waiting') return state?.choice.timed.length === 1 ? (state.choice.timed[0] ?? null) : null
  return phase === 'delayed' && state?.transitions.length === 1 ? 0 : null
}

/** The state of a turn that begins with that snapshot. What is missing in it counts as empty. */
export function turnStateFrom(flux: CompiledFlux, snapshot: { readonly [field: string]: unknown }): TurnState {
  const phase = phaseOf(snapshot['value'])
  const index = currentIndexOf(flux, snapshot['value'])
  const context = objectOf(snapshot['context'])
  const registers = objectOf(snapshot['registers'])
  const { due, fluxEvent } = context
  const { pick } = registers
  const waitsForTime = typeof due === 'number' && (phase === 'waiting' || phase === 'delayed')
  return {
    data: { ...dataFrom(flux, context, registers), state: index, fluxEvent: fluxEvent ?? null, args: argsIn(phase) },
    moves: numberOf(context['moves'], 0),
    epoch: numberOf(context['epoch'], 0),
    attempt: numberOf(context['attempt'], 1),
    due: typeof due === 'number' ? due : null,
    pick: !waitsForTime ? null : typeof pick === 'number' ? pick : soleTimed(flux, phase, index),
    waits: phase === 'waiting',
    turn: NO_TURN,
  }
}

/** Later attempts use the arguments of the first, which a snapshot does not show. */
const argsIn = (phase: Phase): JsonObject | null => (phase === 'acting' || phase === 'backoff' ? {} : null)

function dataFrom(flux: CompiledFlux, context: JsonObject, registers: JsonObject) {
  const { contextId, fluxName, trigger, response, exception } = registers
  const states: { [index: string]: StateData } = {}
  const byName = objectOf(context['states'])
  for (const name of Object.keys(byName)) {
    const index = flux.stateIndex.get(name)
    const data = objectOf(byName[name])
    if (index !== undefined) states[index] = { input: objectOf(data['input']), output: objectOf(data['output']) }
  }
  const { $request: request, ...input } = objectOf(context['input'])
  const isDeclared = flux.input.properties.has('$request')
  const data: Omit<Data, 'state' | 'fluxEvent' | 'args'> = {
    id: numberOf(contextId, 0),
    fluxName: typeof fluxName === 'string' ? fluxName : flux.fluxName,
    trigger: typeof trigger === 'string' ? trigger : null,
    trackerId: String(context['trackerId'] ?? ''),
    input: isDeclared ? objectOf(context['input']) : input,
    output: objectOf(context['output']),
    states,
    request: isDeclared || !isObject(request) ? null : request,
    answer: null,
    response: isObject(response) ? response : null,
    visited: Object.keys(states).map(Number),
    exception: isObject(exception) ? exceptionFrom(exception) : null,
    moves: 0,
  }
  return data
}

const exceptionFrom = ({ message, type, className, realException }: JsonObject): FluxException => ({
  message: String(message ?? ''),
  type: String(type ?? ''),
  className: String(className ?? ''),
  realException: realException ?? null,
  fluxStackTrace: [],
})

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})
const numberOf = (value: Json | undefined, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

/** The index of the state in which the value of a snapshot stands; 0 where the context has ended. */
export function currentIndexOf({ states }: CompiledFlux, value: unknown): number {
  const [node] = isObject(value) ? Object.keys(value) : []
  return Math.max(0, node === undefined ? 0 : states.findIndex(({ name }) => nodeName(name) === node))
}
