// definitions: states and their transitions. Outlines first, since a transition's lines are held to the inputs of its target.
import type { JsonObject } from '../model/json.ts'
import { alternatives } from '../model/nearest.ts'
import { compileAction } from './actions/actions.ts'
import { inputsOf, outputsOf, visibleIn } from './compile-names.ts'
import { compileWait } from './compile-text.ts'
import type { CompiledState, CompiledTransition } from './flux.ts'
import { compileLines } from './lines.ts'
import type { Shape } from './properties.ts'
import type { Report } from './report.ts'
import { State, take, Transition } from './schema.ts'

/** What states are compiled in. */
export interface Service {
  readonly input: Shape
  readonly output: Shape
  /** Whether inputs come that nobody declared. */
  readonly extra: boolean
  readonly states: ReadonlyMap<string, Outline>
  readonly report: Report
}

export interface Outline {
  readonly index: number
  readonly pointer: string
  readonly name: string
  readonly waiting: boolean
  readonly input: Shape
  readonly output: Shape
  readonly action: JsonObject
  readonly transitions: readonly JsonObject[]
}

export function outlineStates(list: readonly JsonObject[], shape: (list: readonly JsonObject[], pointer: string) => Shape, report: Report): Outline[] {
  const names = new Set<string>()
  return list.flatMap((source, index) => {
    const pointer = `/states/${index}`
    const state = take(State, source, pointer, report)
    if (state === null) return []
    if (names.has(state.name)) report.fault(`${pointer}/name`, `two states are named "${state.name}"`)
    names.add(state.name)
    return [{
      index, pointer, name: state.name, waiting: state.waiting ?? false, action: state.action ?? {}, transitions: state.transitions ?? [],
      input: shape(state.input ?? [], `${pointer}/input`), output: shape(state.output ?? [], `${pointer}/output`),
    }]
  })
}

export function compileState(outline: Outline, service: Service): CompiledState {
  const { index, name, waiting, input, output, pointer } = outline
  const { report } = service
  const visible = visibleIn(outline, service)
  const action = compileAction(outline.action, { visible, resolve: outputsOf(outline, service), pointer: `${pointer}/action`, report })
  const transitions = outline.transitions.map((source, at) => compileTransition(source, `${pointer}/transitions/${at}`, outline, service))
  const choice = compileChoice(outline, transitions, report)
  return { index, name, waiting, input, output, action, transitions: transitions.filter((transition) => transition !== null), choice }
}

function compileTransition(source: JsonObject, pointer: string, left: Outline, service: Service): CompiledTransition | null {
  const { report } = service
  const transition = take(Transition, source, pointer, report)
  if (transition === null) return null
  const target = service.states.get(transition.to)
  if (target === undefined) report.fault(`${pointer}/to`, `there is no state "${transition.to}"${alternatives(transition.to, service.states.keys())}`)
  return {
    event: transition.event || null,
    to: target?.index ?? 0,
    wait: compileWait(transition.wait ?? '', visibleIn(left, service), `${pointer}/wait`, report),
    lines: compileLines(transition.lines ?? [], {
      visible: visibleIn(left, service), resolve: inputsOf(target), pointer: `${pointer}/lines`, report,
    }),
  }
}

/** Those with a fault keep their place. */
type Transitions = readonly (CompiledTransition | null)[]

/** Sorts the transitions of a state by what takes them. */
function compileChoice({ waiting, pointer }: Outline, transitions: Transitions, report: Report): CompiledState['choice'] {
  const named = new Map<string, number>()
  const eventless: number[] = []
  for (const [at, transition] of transitions.entries()) {
    if (transition === null) continue
    const { event } = transition
    if (event === null) eventless.push(at)
    else if (named.has(event)) report.fault(`${pointer}/transitions/${at}/event`, `two transitions of this state are for "${event}"`)
    else named.set(event, at)
  }
  const exception = named.get('$exception') ?? null
  const otherwise = named.get('$else') ?? null
  const events = new Map([...named].filter(([event]) => event !== '$exception' && event !== '$else'))
  const choice = { events, otherwise, exception, lone: null, timed: [], end: events.size === 0 && otherwise === null }
  if (waiting) return { ...choice, timed: timedOf(eventless, choice, transitions, pointer, report) }
  const [lone, ...more] = eventless
  if (lone === undefined) return choice
  for (const at of more) report.fault(`${pointer}/transitions/${at}`, 'two transitions of this state have no event')
  if (choice.end) return { ...choice, lone, end: false }
  report.warn(`${pointer}/transitions/${lone}`, 'never taken: a transition without event must be the only one besides $exception')
  return choice
}

type Named = Pick<CompiledState['choice'], 'exception' | 'end'>

function timedOf(eventless: number[], { exception, end }: Named, transitions: Transitions, pointer: string, report: Report): number[] {
  if (transitions.length === 0) report.fault(pointer, 'a waiting state needs a transition')
  else if (end && eventless.length === 0 && exception !== null) report.warn(pointer, 'nothing ever ends this wait: there is neither an event nor a time')
  for (const at of eventless) {
    const place = `${pointer}/transitions/${at}`
    const isReported = report.faults.some((fault) => fault.pointer === `${place}/wait`)
    if (!transitions[at]?.wait && !isReported) report.fault(place, 'a transition without event needs a wait in a waiting state')
  }
  return eventless
}
