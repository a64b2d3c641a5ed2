// definitions: compiles states and their transitions. Outlines come first, since a transition's lines are coerced to
// the inputs of its target.
import type { JsonObject } from '../../model/json/value.ts'
import { alternatives } from '../../model/nearest.ts'
import { PLAIN } from '../actions/action-type.ts'
import { compileAction } from '../actions/actions.ts'
import { checkDecided } from './decided.ts'
import { compileChoice, type TransitionPart } from './choice.ts'
import { inputsOf, outputsOf, visibleIn } from '../lines/names.ts'
import { compileWait } from './templates.ts'
import type { CompiledState } from '../flux.ts'
import { brokenLine } from '../lines/line.ts'
import { compileLines } from '../lines/lines.ts'
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
    const state = take(State, source, pointer, report)
    if (state === null)
      return { index, pointer, name: '', waiting: false, input: NOTHING, output: NOTHING, action: {}, transitions: [] }
    if (names.has(state.name)) report.fault(`${pointer}/name`, `two states are named "${state.name}"`)
    names.add(state.name)
    return {
      index,
      pointer,
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
  const visible = visibleIn(outline, service)
  const action = compileAction(outline.action, {
    visible,
    resolve: outputsOf(outline, service),
    pointer: `${pointer}/action`,
    report,
  })
  const parts = outline.transitions.map((source, at) =>
    compileTransition(source, `${pointer}/transitions/${at}`, outline, service),
  )
  const choice = compileChoice(outline, parts, report)
  if (waiting && !report.pinned) checkDecided(outline, choice.events, report)
  const transitions = parts.map(({ transition }) => transition)
  return { index, name, waiting, input, output, action, transitions, choice, fault: null }
}

/** What is known of a state that can't be run. */
export interface BrokenState
  extends Pick<CompiledState, 'index' | 'name'>, Partial<Pick<CompiledState, 'input' | 'output'>> {
  /** Events that it takes while its contexts wait in it; `otherwise` is not null: all others, too. */
  readonly choice: Pick<CompiledState['choice'], 'events' | 'otherwise'>
}

/**
 * Creates the replacement of a state that can't be compiled: contexts fail when they act in it, and events that it takes
 * make them act. The indices in its choice refer to no transition.
 */
export function brokenState({ index, name, input, output, choice }: BrokenState, fault: string): CompiledState {
  return {
    index,
    name,
    waiting: false,
    input: input ?? NOTHING,
    output: output ?? NOTHING,
    action: { ...PLAIN, type: 'map', outputs: [brokenLine(fault)] },
    transitions: [],
    choice: {
      events: choice.events,
      internal: new Map(),
      otherwise: choice.otherwise,
      exception: null,
      lone: null,
      timed: [],
      end: false,
    },
    fault,
  }
}

const isOwnEvent = (event: string): boolean => event !== '' && event !== '$else' && event !== '$exception'

function compileTransition(source: JsonObject, pointer: string, left: StateOutline, service: Service): TransitionPart {
  const { report } = service
  const transition = take(TransitionSchema, source, pointer, report)
  if (transition === null)
    return { transition: { event: null, internal: false, to: 0, wait: null, lines: [] }, isWhole: false }
  if (transition.internal && !isOwnEvent(transition.event ?? ''))
    report.fault(`${pointer}/internal`, 'only a transition that names an event can be internal')
  const target = service.states.get(transition.to)
  if (target === undefined)
    report.fault(
      `${pointer}/to`,
      `there is no state "${transition.to}"${alternatives(transition.to, service.states.keys())}`,
    )
  const visible = visibleIn(left, service)
  const event = transition.event || null
  const of = `the transition${event === null ? '' : ` for '${event}'`} to '${transition.to}'`
  const wait = compileWait(transition.wait ?? '', visible, { pointer: `${pointer}/wait`, of, report })
  const lines = compileLines(transition.lines ?? [], {
    visible,
    resolve: inputsOf(target),
    pointer: `${pointer}/lines`,
    of,
    report,
  })
  const internal = transition.internal ?? false
  return { transition: { event, internal, to: target?.index ?? 0, wait, lines }, isWhole: true }
}
