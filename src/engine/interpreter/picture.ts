// engine/interpreter: a service as plain configuration of XState, with the user's own events: a picture for its tools. The
// machine that runs is another one, see `machine.ts`: there, a user's name never has a meaning to XState.
import type { CompiledFlux, CompiledState, Wait } from '../../definitions/flux.ts'
import { getOwn, isObject, setOwn, type Json, type JsonObject } from '../../model/json/value.ts'
import { nodeName } from './nodes.ts'

/** Configuration for `createMachine`. Each transition is in it once. */
export function pictureOf({ fluxName, source, states, startState }: CompiledFlux): JsonObject {
  const nameOf = (index: number) => nodeName(states[index]?.name ?? '')
  const nodes = states.map((state) => [
    nameOf(state.index),
    nodeOf(state, nameOf, listIn(source, 'states')[state.index]),
  ])
  return {
    id: fluxName,
    ...described(source),
    initial: nameOf(startState),
    states: Object.fromEntries(nodes),
  }
}

function nodeOf(
  { transitions }: CompiledState,
  nameOf: (index: number) => string,
  source: Json | undefined,
): JsonObject {
  if (transitions.length === 0) return { ...described(source), type: 'final' }
  const [on, after, always]: [JsonObject, JsonObject, Json[]] = [{}, {}, []]
  for (const [index, { to, event, wait }] of transitions.entries()) {
    const written = listIn(source, 'transitions')[index]
    const edge = { target: nameOf(to), ...described(written) }
    if (event !== null && event !== '') add(on, event, edge)
    else if (wait !== null) add(after, delayOf(wait, written), edge)
    else always.push(edge)
  }
  return {
    ...described(source),
    ...(Object.keys(on).length > 0 && { on }),
    ...(Object.keys(after).length > 0 && { after }),
    ...(always.length > 0 && { always }),
  }
}

/** Adds a transition beside those of the same trigger. */
function add(group: JsonObject, trigger: string, edge: JsonObject) {
  const present = getOwn(group, trigger)
  setOwn(group, trigger, present === undefined ? edge : [...(Array.isArray(present) ? present : [present]), edge])
}

/** Milliseconds, where the file has a number of seconds; else the text in the file, as the name of a delay. */
function delayOf({ kind }: Wait, transition: Json | undefined) {
  const written = isObject(transition) ? getOwn(transition, 'wait') : undefined
  const text = typeof written === 'string' ? written : JSON.stringify(written ?? kind)
  const seconds = kind === 'duration' ? Number(/^duration:(.+)$/s.exec(text)?.[1] ?? NaN) : NaN
  return Number.isFinite(seconds) && seconds >= 0 ? String(Math.ceil(seconds * 1000)) : text
}

function described(source: Json | undefined) {
  const comment = isObject(source) ? getOwn(source, 'comment') : undefined
  return typeof comment === 'string' && comment !== '' ? { description: comment } : {}
}

function listIn(source: Json | undefined, key: string) {
  const list = isObject(source) ? getOwn(source, key) : undefined
  return Array.isArray(list) ? list : []
}
