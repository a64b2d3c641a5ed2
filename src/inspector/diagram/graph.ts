// inspector/diagram: the states and transitions of a definition, as far as a drawing needs them. A pinned definition may
// be faulty, so whatever is missing or has another type is left out.
import { durationText } from '../parts/time.tsx'
import { getOwn, isObject, type Json, type JsonObject } from '../../model/json/value.ts'

export interface GraphState {
  readonly name: string
  /** What is written in the drawing. */
  readonly title: string
  /** What it does. */
  readonly kind: 'waiting' | 'function' | 'script' | 'child' | 'map'
  /** The function or service that it calls; null: none. */
  readonly calls: string | null
  readonly comment: string | null
  readonly isEnd: boolean
  /** Where the file places it; null: nowhere. */
  readonly place: { readonly x: number; readonly y: number } | null
}

export interface GraphEdge {
  readonly from: string
  readonly to: string
  /** When it is taken: by an event, any other event, an exception, a time, or by itself. */
  readonly kind: 'event' | 'else' | 'exception' | 'timed' | 'next'
  /** Name of the event, or the time; empty for a transition that is taken by itself. */
  readonly label: string
}

export type Graph = ReturnType<typeof graphOf>

export function graphOf(definition: JsonObject) {
  const listed = objectsIn(definition['states']).filter((state) => typeof state['name'] === 'string')
  const states = listed.map(stateOf)
  const known = new Set(states.map(({ name }) => name))
  const edges = listed
    .flatMap(({ name, transitions }) => objectsIn(transitions).map((transition) => edgeOf(textOf(name), transition)))
    .filter(({ to }) => known.has(to))
  const start = textOf(definition['startState'])
  return { states, edges, start: known.has(start) ? start : (states[0]?.name ?? null) }
}

function stateOf(state: JsonObject): GraphState {
  const name = textOf(state['name'])
  const action = isObject(state['action']) ? state['action'] : {}
  const [x, y] = [state['x'], state['y']]
  const isPlaced = typeof x === 'number' && typeof y === 'number' && Number.isFinite(x) && Number.isFinite(y)
  return {
    name,
    title: textOf(state['displayName']) || name,
    kind: state['waiting'] === true ? 'waiting' : kindOf(action),
    calls: callsOf(action),
    comment: textOf(state['comment']) || null,
    isEnd: objectsIn(state['transitions']).length === 0,
    place: isPlaced ? { x, y } : null,
  }
}

function kindOf(action: JsonObject): GraphState['kind'] {
  if (action['type'] === 'invokeCode') return 'function'
  if (action['type'] === 'script') return 'script'
  return action['type'] === 'invokeFlux' ? 'child' : 'map'
}

function callsOf(action: JsonObject): string | null {
  if (action['type'] === 'invokeCode') return `${textOf(action['className'])}.${textOf(action['methodName'])}`
  return action['type'] === 'invokeFlux' ? textOf(action['name']) : null
}

/** What is written of events that have no names. */
const LABELS = { $exception: 'exception', $else: 'any other' }

function edgeOf(from: string, transition: JsonObject): GraphEdge {
  const event = textOf(transition['event'])
  const wait = textOf(transition['wait'])
  const named: string = getOwn(LABELS, event) ?? event
  const label = [named, wait && timeOf(wait)].filter((text) => text !== '').join(', ')
  return { from, to: textOf(transition['to']), kind: edgeKindOf(event, wait), label }
}

function edgeKindOf(event: string, wait: string): GraphEdge['kind'] {
  if (event === '') return wait === '' ? 'next' : 'timed'
  if (event === '$exception') return 'exception'
  return event === '$else' ? 'else' : 'event'
}

/** `duration:60` is a number of seconds, `date:` a time; either may be a template. */
function timeOf(wait: string): string {
  if (!wait.startsWith('duration:')) return `at ${wait.startsWith('date:') ? wait.slice('date:'.length) : wait}`
  const seconds = wait.slice('duration:'.length)
  return /^\d{1,12}$/.test(seconds) ? `after ${durationText(Number(seconds) * 1000)}` : `after ${seconds} s`
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The objects of a list; none of what is none. */
export const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : []
