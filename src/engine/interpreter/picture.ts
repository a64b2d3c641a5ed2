// engine/interpreter: a service as plain configuration of XState, with the user's own events: a picture for its tools. The
// machine that runs is another one, see `machine.ts`: there, a user's name never has a meaning to XState.
import type { CompiledFlux, CompiledState, CompiledTransition } from '../../definitions/flux.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { nodeName } from './nodes.ts'

/** Configuration for `createMachine`. Each transition is in it once. */
export function pictureOf({ fluxName, source, states, startState }: CompiledFlux): JsonObject {
  const nodes: JsonObject = {}
  const sources = listOf(getOwn(source, 'states'))
  for (const state of states) setOwn(nodes, nodeName(state.name), nodeOf(state, states, sources[state.index]))
  return {
    id: fluxName,
    ...described(source),
    initial: nodeName(states[startState]?.name ?? ''),
    states: nodes,
  }
}

function nodeOf(state: CompiledState, states: readonly CompiledState[], source: Json | undefined): JsonObject {
  const node: JsonObject = { ...described(source) }
  if (state.transitions.length === 0) return { ...node, type: 'final' }
  const sources = isObject(source) ? listOf(getOwn(source, 'transitions')) : []
  const groups: { on: JsonObject; after: JsonObject; always: Json[] } = { on: {}, after: {}, always: [] }
  for (const [index, transition] of state.transitions.entries()) {
    const to = states[transition.to]
    if (!to) continue
    const written = sources[index]
    const wait = isObject(written) ? getOwn(written, 'wait') : undefined
    const edge = { target: nodeName(to.name), ...described(written) }
    if (transition.event !== null && transition.event !== '') add(groups.on, transition.event, edge)
    else if (transition.wait !== null) add(groups.after, delayOf(transition.wait, wait), edge)
    else groups.always.push(edge)
  }
  if (Object.keys(groups.on).length > 0) node['on'] = groups.on
  if (Object.keys(groups.after).length > 0) node['after'] = groups.after
  if (groups.always.length > 0) node['always'] = groups.always
  return node
}

/** Adds a transition beside those of the same trigger. */
function add(group: JsonObject, trigger: string, edge: JsonObject): void {
  const present = getOwn(group, trigger)
  setOwn(group, trigger, present === undefined ? edge : [...(Array.isArray(present) ? present : [present]), edge])
}

/** Milliseconds, where the file has a number of seconds; else the text in the file, as the name of a delay. */
function delayOf({ kind }: NonNullable<CompiledTransition['wait']>, written: Json | undefined): string {
  const text = typeof written === 'string' ? written : JSON.stringify(written ?? kind)
  const seconds = kind === 'duration' ? Number(/^duration:(.+)$/s.exec(text)?.[1] ?? NaN) : NaN
  return Number.isFinite(seconds) && seconds >= 0 ? String(Math.ceil(seconds * 1000)) : text
}

function described(source: Json | undefined): JsonObject {
  const comment = isObject(source) ? getOwn(source, 'comment') : undefined
  return typeof comment === 'string' && comment !== '' ? { description: comment } : {}
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
