// definitions: compiles states and their transitions. Outlines come first, since a transition's lines are coerced to
// the inputs of its target.
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { brokenAction, compileAction } from '../actions/actions.ts'
import { compileChoice, type TransitionPart } from './choice.ts'
import { inputsOf, outputsOf, visibleIn } from './names.ts'
import { brokenWait, compileWait } from './templates.ts'
import type { CompiledState, CompiledTransition } from '../flux.ts'
import { brokenLine } from './line.ts'
import { compileLines } from './lines.ts'
import type { Shape } from '../values/properties.ts'
import type { Report } from '../report.ts'
import { State, TransitionSchema } from '../source/schema.ts'
import { take } from '../source/take.ts'

/** The service around the states that are compiled. */
export interface Service {
  readonly input: Shape
  readonly output: Shape
  /** Whether undeclared inputs are allowed. */
  readonly extra: boolean
  /** Whether `$secrets` has its meaning. */
  readonly seesSecrets: boolean
  /** The states that have a name. */
  readonly states: ReadonlyMap<string, StateOutline>
  readonly report: Report
}

export interface StateOutline {
  readonly index: number
  readonly pointer: string
  readonly name: string
  readonly waiting: boolean
  readonly input: Shape
  readonly output: Shape
  readonly action: JsonObject
  readonly transitions: readonly JsonObject[]
  /** First fault of the state itself; null if there is none. */
  readonly fault: string | null
}

/** Name of a state whose name is not known. */
export const placeholderOf = (index: number): string => `#${index}`

const NOTHING: Shape = { properties: new Map(), extra: false }

/** Creates one outline for each entry of the list, even an invalid one, since contexts refer to states by index. */
export function outlineStates(
  list: readonly JsonObject[],
  shape: (list: readonly JsonObject[], pointer: string) => Shape,
  report: Report,
): StateOutline[] {
  const names = new Set<string>()
  return list.map((source, index) => {
    const pointer = `/states/${index}`
    const { value: state, fault } = report.part(() => {
      const taken = take(State, source, pointer, report)
      if (taken !== null && names.has(taken.name))
        report.fault(`${pointer}/name`, `two states are named "${taken.name}"`)
      return taken
    })
    const outline = { index, pointer, fault }
    if (state === null)
      return { ...outline, name: '', waiting: false, input: NOTHING, output: NOTHING, action: {}, transitions: [] }
    names.add(state.name)
    return {
      ...outline,
      name: state.name,
      waiting: state.waiting ?? false,
      action: state.action ?? {},
      transitions: state.transitions ?? [],
      input: shape(state.input ?? [], `${pointer}/input`),
      output: shape(state.output ?? [], `${pointer}/output`),
    }
  })
}

export function compileState(outline: StateOutline, service: Service): CompiledState {
  const { index, name, waiting, input, output, pointer } = outline
  const { report } = service
  if (name === '') return brokenState(index, placeholderOf(index), outline.fault ?? `${pointer}: it has no name`)
  const visible = visibleIn(outline, service)
  const compiled = compileAction(outline.action, {
    visible,
    seesSecrets: service.seesSecrets,
    resolve: outputsOf(outline, service),
    pointer: `${pointer}/action`,
    report,
  })
  // The part of the state that could not be read may be its action.
  const action = outline.fault === null ? compiled : brokenAction(outline.fault)
  const parts = outline.transitions.map((source, at) =>
    compileTransition(source, `${pointer}/transitions/${at}`, outline, service),
  )
  const { value: choice, fault } = report.part(() => compileChoice(outline, parts, report))
  const transitions = parts.map(({ transition }) => transition)
  const faults = [outline.fault, action.fault, ...transitions.map((transition) => transition.fault), fault]
  return {
    index,
    name,
    waiting,
    input,
    output,
    action,
    transitions,
    choice,
    fault: faults.find((one) => one !== null) ?? null,
  }
}

/** Creates the replacement of a state that can't be compiled: it fails when it is reached. */
export function brokenState(index: number, name: string, fault: string): CompiledState {
  const choice = { events: new Map(), otherwise: null, exception: null, lone: null, timed: [], end: false }
  return {
    index,
    name,
    waiting: false,
    input: NOTHING,
    output: NOTHING,
    action: brokenAction(fault),
    transitions: [],
    fault,
    choice,
  }
}

function compileTransition(source: JsonObject, pointer: string, left: StateOutline, service: Service): TransitionPart {
  const { report } = service
  const { value: transition, fault } = report.part(() => {
    const taken = take(TransitionSchema, source, pointer, report)
    if (taken !== null && !service.states.has(taken.to)) {
      report.fault(`${pointer}/to`, `there is no state "${taken.to}"${alternatives(taken.to, service.states.keys())}`)
    }
    return taken
  })
  if (transition === null) {
    const event = isObject(source) ? getOwn(source, 'event') : null
    const bare = {
      event: typeof event === 'string' && event !== '' ? event : null,
      to: 0,
      lines: [],
      fault: fault ?? `${pointer}: it can't be compiled`,
    }
    const isTimed = isObject(source) && (getOwn(source, 'wait') ?? '') !== ''
    return brokenTransition(source, { ...bare, wait: isTimed ? brokenWait('', bare.fault) : null }, false)
  }
  const target = service.states.get(transition.to)
  const visible = visibleIn(left, service)
  const wait = compileWait(transition.wait ?? '', visible, `${pointer}/wait`, report)
  const lines = compileLines(transition.lines ?? [], {
    visible,
    resolve: inputsOf(target),
    pointer: `${pointer}/lines`,
    report,
  })
  const event = transition.event || null
  const compiled = { event, to: target?.index ?? 0, wait, lines, fault }
  return fault === null
    ? { transition: compiled, isWhole: true, isEventKnown: true }
    : brokenTransition(source, { ...compiled, fault }, true)
}

/**
 * Creates the replacement of a transition with a fault. It keeps its index and, if known, its event, and fails when it
 * is taken.
 */
function brokenTransition(
  source: JsonObject,
  known: CompiledTransition & { readonly fault: string },
  isWhole: boolean,
): TransitionPart {
  const { event = null, wait = null } = isObject(source) ? source : { event: false }
  const isWaitKnown = wait === null || typeof wait === 'string'
  const transition = {
    ...known,
    wait: isWaitKnown ? known.wait : brokenWait('', known.fault),
    lines: [brokenLine(known.fault)],
  }
  return { transition, isWhole, isEventKnown: event === null || typeof event === 'string' }
}
