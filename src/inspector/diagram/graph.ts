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
  readonly startsChild: boolean
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
  /** Where the message of an exception stands in the values that are carried on; left out: nowhere. */
  readonly messageTo?: readonly string[] | undefined
}

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

function stateOf({ name, displayName, comment, waiting, action, transitions, x, y }: JsonObject): GraphState {
  const { type, name: service, className, methodName }: JsonObject = isObject(action) ? action : {}
  const isPlaced = typeof x === 'number' && typeof y === 'number' && Number.isFinite(x) && Number.isFinite(y)
  return {
    name: textOf(name),
    title: textOf(displayName) || textOf(name),
    kind: waiting === true ? 'waiting' : (getOwn(KINDS, textOf(type)) ?? 'map'),
    calls: type === 'invokeCode' ? `${textOf(className)}.${textOf(methodName)}` : textOf(service) || null,
    comment: textOf(comment) || null,
    isEnd: objectsIn(transitions).length === 0,
    startsChild: type === 'invokeFlux',
    place: isPlaced ? { x, y } : null,
  }
}

/** What types of actions are called in the drawing. */
const KINDS: { readonly [type: string]: GraphState['kind'] } = {
  invokeCode: 'function',
  script: 'script',
  invokeFlux: 'child',
}

/** What is written of events that have no names. */
const LABELS = { $exception: 'exception', $else: 'any other' }

function edgeOf(from: string, { event: given, wait: until, to, lines }: JsonObject): GraphEdge {
  const event = textOf(given)
  const wait = textOf(until)
  const named: string = getOwn(LABELS, event) ?? event
  return {
    from,
    to: textOf(to),
    kind: edgeKindOf(event, wait),
    label: [named, wait && timeOf(wait)].filter(Boolean).join(', '),
    messageTo: objectsIn(lines)
      .map(messageIn)
      .find((path) => path !== undefined),
  }
}

function messageIn({ from, expression, to }: JsonObject) {
  const source = Array.isArray(from) ? from.join('.') : textOf(expression).trim()
  return source === '$fluxException.message' && Array.isArray(to) ? to.map(textOf) : undefined
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
