// definitions: compiles states, their transitions and waits; and what stands for a state that can't be compiled any
// more. Outlines come first, since a transition's lines are coerced to the inputs of its target.
import { alternatives } from '../../model/nearest.ts'
import { compileAction, PLAIN } from '../actions/actions.ts'
import { compileTemplate } from '../expressions/compile.ts'
import type { CompiledState, Wait } from '../flux.ts'
import { brokenLine } from '../lines/line.ts'
import { compileLines } from '../lines/lines.ts'
import { compileSeen, inputsOf, outputsOf, seenIn, type SeenAt, type Visible } from '../lines/names.ts'
import type { Report } from '../report.ts'
import type { LineSource, StateSource, TransitionSource } from '../source/schema.ts'
import { parseDate } from '../values/dates.ts'
import type { Shape } from '../values/properties.ts'

/** The service around the states that are compiled. */
export interface Service {
  readonly input: Shape
  readonly output: Shape
  /** Whether undeclared inputs are allowed. */
  readonly extra: boolean
  /** By name. */
  readonly states: ReadonlyMap<string, StateOutline>
  readonly report: Report
}

export interface StateOutline extends Pick<StateSource, 'name' | 'waiting' | 'action' | 'transitions'> {
  readonly index: number
  readonly pointer: string
  readonly input: Shape
  readonly output: Shape
}

const UNREADABLE = { waiting: false, action: null, transitions: [], input: [], output: [] }

/**
 * Creates one outline for each entry of the list, even an invalid one, since contexts refer to states by index. Names
 * are unique, since the machine's nodes have them.
 */
export function outlineStates(
  list: readonly (StateSource | undefined)[],
  shape: (list: StateSource['input'], pointer: string) => Shape,
  report: Report,
): StateOutline[] {
  const names = new Set<string>()
  return list.map((source, index) => {
    const pointer = `/states/${index}`
    const { input, output, ...state } = { name: placeholderOf(index), ...(source ?? UNREADABLE) }
    const name = unused(state.name, names)
    if (name !== state.name) report.fault(`${pointer}/name`, `two states are named "${state.name}"`)
    return {
      ...state,
      name,
      index,
      pointer,
      input: shape(input, `${pointer}/input`),
      output: shape(output, `${pointer}/output`),
    }
  })
}

/** Name of a state whose name is not known. */
export const placeholderOf = (index: number): string => `#${index}`

/** Whether the state has a name of its own. */
export const isNamed = ({ name, index }: { name: string; index: number }): boolean => name !== placeholderOf(index)

/** Returns the name, with underscores appended until no other state has it, and adds it to `names`. */
export function unused(name: string, names: Set<string>): string {
  let free = name
  while (names.has(free)) free += '_'
  names.add(free)
  return free
}

export function compileState(outline: StateOutline, service: Service): CompiledState {
  const { index, name, waiting, input, output, pointer } = outline
  const { report } = service
  const visible = service.extra ? null : seenIn([output, input, service.output, service.input])
  const action = compileAction(outline.action, {
    visible,
    resolve: outputsOf(outline, service),
    pointer: `${pointer}/action`,
    report,
  })
  // A transition with a fault is left out: nothing runs a state that has one.
  const transitions = outline.transitions.flatMap((source, at) =>
    source ? compileTransition(source, `${pointer}/transitions/${at}`, outline, visible, service) : [],
  )
  const choice = compileChoice(outline, report)
  checkDecided(outline, choice.events, report)
  return { index, name, waiting, input, output, action, transitions, choice, fault: null }
}

function compileTransition(
  source: TransitionSource,
  pointer: string,
  left: StateOutline,
  visible: Visible,
  { states, report }: Service,
) {
  const event = source.event || null
  const internal = source.internal === true
  const isOwn = isOwnEvent(event ?? '')
  if (internal && !isOwn) report.fault(`${pointer}/internal`, 'only a transition that names an event can be internal')
  if (source.early != null) {
    const at = `${pointer}/early`
    if (!isOwn) report.fault(at, 'only a transition that names an event can keep one that comes early')
    else if (internal) report.fault(at, 'the event is internal: it is never sent, so it cannot come early')
    else if (!left.waiting) report.warn(at, 'has no effect: the state does not wait for events')
  }
  const target = states.get(source.to)
  if (target === undefined)
    report.fault(`${pointer}/to`, `there is no state "${source.to}"${alternatives(source.to, states.keys())}`)
  const of = `the transition${event === null ? '' : ` for '${event}'`} to '${source.to}'`
  const seen = { visible, of, report }
  const wait = compileWait(source.wait, { ...seen, pointer: `${pointer}/wait` })
  const lines = compileLines(source.lines, { ...seen, resolve: inputsOf(target), pointer: `${pointer}/lines` })
  return { event, to: target?.index ?? 0, wait, lines }
}

/**
 * Compiles a wait: `duration:<seconds>` or `date:<when>`, where the value is a literal or a template. null if there is
 * none, and after a fault. `of`: the transition, in messages.
 */
function compileWait(source: TransitionSource['wait'], { of, ...at }: SeenAt & { readonly of: string }): Wait | null {
  const [, kind, value = ''] = /^\s*(duration|date)\s*:(.*)$/s.exec(source ?? '') ?? []
  if (kind === undefined) return null
  const text = value.trim()
  const template = compileSeen(compileTemplate, text, at)
  if (!text.includes('${')) checkLiteral(kind, text, at)
  return template && { kind: kind === 'date' ? 'date' : 'duration', of, value: template }
}

function checkLiteral(kind: string, text: string, { pointer, report }: SeenAt) {
  if (kind === 'date') {
    if (parseDate(text) === null) report.fault(pointer, `"${text}" is no date: neither ISO 8601 nor epoch milliseconds`)
  } else if (!Number.isFinite(Number(text))) report.fault(pointer, `"${text}" is no number of seconds`)
  else if (Number(text) < 0) report.warn(pointer, 'a negative time does not wait at all')
}

/** Whether senders, or the action, can name the event. */
const isOwnEvent = (event: string) => event !== '' && event !== '$else' && event !== '$exception'

function compileChoice({ waiting, transitions, pointer }: StateOutline, report: Report) {
  const below = (at: number) => `${pointer}/transitions/${at}`
  const named = new Map<string, number>()
  const eventless: number[] = []
  for (const [at, transition] of transitions.entries()) {
    const event = transition?.event ?? ''
    if (transition === undefined) continue
    if (event === '') eventless.push(at)
    else if (named.has(event)) report.fault(`${below(at)}/event`, `two transitions of this state are for "${event}"`)
    else named.set(event, at)
  }
  const isInternal = (at: number) => transitions[at]?.internal === true
  const end = [...named.keys()].every((event) => event === '$exception')
  const [lone, ...more] = eventless
  if (waiting) {
    const isUnsent = ([event, at]: [string, number]) => event === '$exception' || isInternal(at)
    if (transitions.length === 0) report.fault(pointer, 'a waiting state needs a transition')
    else if (named.size > 0 && [...named].every(isUnsent) && lone === undefined)
      report.warn(pointer, 'nothing ever ends this wait: there is neither an event nor a time')
    for (const at of eventless)
      if (!transitions[at]?.wait && !report.hasFaultAt(`${below(at)}/wait`))
        report.fault(below(at), 'a transition without event needs a wait in a waiting state')
  } else {
    for (const at of more) report.fault(below(at), 'two transitions of this state have no event')
    if (lone !== undefined && !end)
      report.warn(below(lone), 'never taken: a transition without event must be the only one besides $exception')
  }
  const own = [...named].filter(([event]) => isOwnEvent(event))
  const isLone = !waiting && end && lone !== undefined
  return {
    events: new Map(own.filter(([, at]) => !isInternal(at))),
    internal: new Map(own.filter(([, at]) => isInternal(at))),
    otherwise: named.get('$else') ?? null,
    exception: named.get('$exception') ?? null,
    lone: isLone ? lone : null,
    timed: waiting ? eventless : [],
    end: end && !isLone,
  }
}

/**
 * Warns of events of a waiting state that its action writes to `$fluxEvent`, if it says of no transition whether it is
 * internal. An event with which the action compares is one that is sent. What a function returns may be any of them.
 */
function checkDecided(
  { waiting, action, transitions, pointer }: StateOutline,
  events: ReadonlyMap<string, number>,
  report: Report,
) {
  if (!waiting || !action || events.size < 2 || transitions.some((one) => one?.internal != null)) return
  const lines = 'lines' in action ? action.lines : action.outputs
  const written = lines.filter((line) => line?.to[0] === '$fluxEvent')
  for (const [event, at] of events)
    if (!event.startsWith('$') && written.some((line) => line && mayWrite(line, event)))
      report.warn(
        `${pointer}/transitions/${at}/event`,
        `the action sets $fluxEvent, and may choose "${event}", which a caller may send as well: ` +
          'add "internal": true to what it alone chooses, and false to what is sent',
      )
}

function mayWrite(line: LineSource, event: string) {
  if (line.type !== 'set') return line.from[0] !== '$fluxEvent'
  const { expression, evaluate } = line
  if (!evaluate || typeof expression !== 'string') return expression === event
  // The event is there as a text, and nowhere beside a comparison.
  return ["'", '"', '`'].some((quote) => {
    const parts = expression.split(quote + event + quote).map((part) => part.trim())
    return parts.length > 1 && !parts.some((part) => /^[=!]=|[=!]=$/.test(part))
  })
}

export const NOTHING: Shape = { properties: new Map(), extra: false }

/** What is known of a state that can't be run. `choice`: the events that it takes while its contexts wait in it. */
interface BrokenState extends Pick<CompiledState, 'index' | 'name' | 'input' | 'output'> {
  readonly choice: Pick<CompiledState['choice'], 'events' | 'otherwise'>
}

/**
 * Creates the replacement of a state that can't be compiled: contexts fail when they act in it, and events that it
 * takes make them act. The indices in its choice refer to no transition.
 */
export const brokenState = (
  { index, name, input, output, choice: { events, otherwise } }: BrokenState,
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
