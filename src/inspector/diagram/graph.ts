// inspector/diagram: the states and transitions of a definition, as far as a drawing needs them. A pinned definition may
// be faulty, so whatever is missing or has another type is left out.
import { durationText } from '../parts/time.tsx'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'

/** What a state does. */
export type StateKind = 'waiting' | 'function' | 'script' | 'child' | 'map'

export interface GraphState {
  readonly name: string
  /** What is written in the drawing. */
  readonly title: string
  readonly kind: StateKind
  /** The function or service that it calls; null: none. */
  readonly calls: string | null
  readonly comment: string | null
  readonly isEnd: boolean
  /** Where the file places it; null: nowhere. */
  readonly place: { readonly x: number; readonly y: number } | null
}

/** When a transition is taken: by an event, any other event, an exception, a time, or by itself. */
export type EdgeKind = 'event' | 'else' | 'exception' | 'timed' | 'next'

export interface GraphEdge {
  readonly from: string
  readonly to: string
  readonly kind: EdgeKind
  /** Name of the event, or the time; empty for a transition that is taken by itself. */
  readonly label: string
}

export interface Graph {
  readonly states: readonly GraphState[]
  readonly edges: readonly GraphEdge[]
  readonly start: string | null
}

export function graphOf(definition: JsonObject): Graph {
  const listed = objectsOf(definition['states'] ?? null).filter((state) => typeof state['name'] === 'string')
  const states = listed.map(stateOf)
  const known = new Set(states.map(({ name }) => name))
  const edges = listed
    .flatMap((state) =>
      objectsOf(state['transitions'] ?? null).map((transition) => edgeOf(textOf(state['name']), transition)),
    )
    .filter(({ to }) => known.has(to))
  const start = textOf(definition['startState'] ?? null)
  return { states, edges, start: known.has(start) ? start : (states[0]?.name ?? null) }
}

function stateOf(state: JsonObject): GraphState {
  const name = textOf(state['name'])
  const action = isObject(state['action']) ? state['action'] : {}
  const [x, y] = [state['x'], state['y']]
  const isPlaced = typeof x === 'number' && typeof y === 'number' && Number.isFinite(x) && Number.isFinite(y)
  return {
    name,
    title: textOf(state['displayName'] ?? null) || name,
    kind: state['waiting'] === true ? 'waiting' : kindOf(action),
    calls: callsOf(action),
    comment: textOf(state['comment'] ?? null) || null,
    isEnd: objectsOf(state['transitions'] ?? null).length === 0,
    place: isPlaced ? { x, y } : null,
  }
}

function kindOf(action: JsonObject): StateKind {
  if (action['type'] === 'invokeCode') return 'function'
  if (action['type'] === 'script') return 'script'
  return action['type'] === 'invokeFlux' ? 'child' : 'map'
}

function callsOf(action: JsonObject): string | null {
  if (action['type'] === 'invokeCode') return `${textOf(action['className'])}.${textOf(action['methodName'])}`
  return action['type'] === 'invokeFlux' ? textOf(action['name']) : null
}

function edgeOf(from: string, transition: JsonObject): GraphEdge {
  const event = textOf(transition['event'] ?? null)
  const wait = textOf(transition['wait'] ?? null)
  const facts = { from, to: textOf(transition['to'] ?? null) }
  if (event === '$exception') return { ...facts, kind: 'exception', label: withWait('exception', wait) }
  if (event === '$else') return { ...facts, kind: 'else', label: withWait('any other', wait) }
  if (event !== '') return { ...facts, kind: 'event', label: withWait(event, wait) }
  return wait === '' ? { ...facts, kind: 'next', label: '' } : { ...facts, kind: 'timed', label: timeOf(wait) }
}

const withWait = (label: string, wait: string): string => (wait === '' ? label : `${label}, ${timeOf(wait)}`)

/** `duration:60` is a number of seconds, `date:` a time; either may be a template. */
function timeOf(wait: string): string {
  if (!wait.startsWith('duration:')) return `at ${wait.startsWith('date:') ? wait.slice('date:'.length) : wait}`
  const seconds = wait.slice('duration:'.length)
  return /^\d{1,12}$/.test(seconds) ? `after ${durationText(Number(seconds) * 1000)}` : `after ${seconds} s`
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const objectsOf = (value: Json): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
