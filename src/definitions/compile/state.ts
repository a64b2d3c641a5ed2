// definitions: compiles states and their transitions; and what stands for a state that can't be compiled any more.
import { alternatives } from '../../model/nearest.ts'
import { compileAction, PLAIN } from '../actions/actions.ts'
import type { CompiledState, CompiledTransition } from '../flux.ts'
import { brokenLine } from '../lines/line.ts'
import { compileLines } from '../lines/lines.ts'
import { inputsOf, outputsOf, visibleIn } from '../lines/names.ts'
import type { TransitionSource } from '../source/schema.ts'
import type { Shape } from '../values/properties.ts'
import { compileChoice, isOwnEvent } from './choice.ts'
import { checkDecided } from './decided.ts'
import type { Service, StateOutline } from './outline.ts'
import { compileWait } from './templates.ts'

export function compileState(outline: StateOutline, service: Service): CompiledState {
  const { index, name, waiting, input, output, pointer } = outline
  const { report } = service
  const action = compileAction(outline.action, {
    visible: visibleIn(outline, service),
    resolve: outputsOf(outline, service),
    pointer: `${pointer}/action`,
    report,
  })
  const transitions = outline.transitions.map((source, at) =>
    source === undefined ? UNKNOWN : compileTransition(source, `${pointer}/transitions/${at}`, outline, service),
  )
  const choice = compileChoice(outline, report)
  checkDecided(outline, choice.events, report)
  return { index, name, waiting, input, output, action, transitions, choice, fault: null }
}

/** In the place of a transition that can't be read. */
const UNKNOWN: CompiledTransition = { event: null, internal: false, to: 0, wait: null, lines: [] }

function compileTransition(
  source: TransitionSource,
  pointer: string,
  left: StateOutline,
  service: Service,
): CompiledTransition {
  const { states, report } = service
  const event = source.event || null
  const internal = source.internal === true
  const isOwn = isOwnEvent(event ?? '')
  if (internal && !isOwn) report.fault(`${pointer}/internal`, 'only a transition that names an event can be internal')
  if (source.early != null) {
    const at = `${pointer}/early`
    if (!isOwn) report.fault(at, 'only a transition that names an event can keep one that comes early')
    else if (internal) report.fault(at, 'the event is internal, so nobody sends it, and none can come early')
    else if (!left.waiting) report.warn(at, 'has no effect: the state does not wait for events')
  }
  const target = states.get(source.to)
  if (target === undefined)
    report.fault(`${pointer}/to`, `there is no state "${source.to}"${alternatives(source.to, states.keys())}`)
  const visible = visibleIn(left, service)
  const of = `the transition${event === null ? '' : ` for '${event}'`} to '${source.to}'`
  const wait = compileWait(source.wait, visible, { pointer: `${pointer}/wait`, of, report })
  const options = { visible, resolve: inputsOf(target), pointer: `${pointer}/lines`, of, report }
  return { event, internal, to: target?.index ?? 0, wait, lines: compileLines(source.lines, options) }
}

export const NOTHING: Shape = { properties: new Map(), extra: false }

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
export const brokenState = (
  { index, name, input = NOTHING, output = NOTHING, choice: { events, otherwise } }: BrokenState,
  fault: string,
): CompiledState => ({
  index,
  name,
  waiting: false,
  input,
  output,
  action: { ...PLAIN, outputs: [brokenLine(fault)] },
  transitions: [],
  choice: { events, otherwise, internal: new Map(), exception: null, lone: null, timed: [], end: false },
  fault,
})
