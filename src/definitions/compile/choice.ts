// definitions: sorts the transitions of a state by what takes them.
import type { CompiledState, CompiledTransition } from '../flux.ts'
import type { Report } from '../report.ts'

export interface TransitionPart {
  readonly transition: CompiledTransition
  /** It says where it leads. Of one that doesn't nothing more is reported. */
  readonly isWhole: boolean
  /** Whether it is known what takes it. */
  readonly isEventKnown: boolean
}

type Parts = readonly TransitionPart[]

interface Place {
  readonly waiting: boolean
  readonly pointer: string
}

interface Sorted {
  /** By event; of several the first. */
  readonly named: ReadonlyMap<string, number>
  readonly eventless: readonly number[]
  /** Those whose event an earlier one has. */
  readonly doubles: readonly number[]
}

export function compileChoice(place: Place, parts: Parts, report: Report): CompiledState['choice'] {
  const whole = sort(parts, ({ isWhole }) => isWhole)
  check(place, whole, parts, report)
  const isClear = parts.every(({ isWhole, isEventKnown }) => isWhole && isEventKnown)
  return choiceOf(place, isClear ? whole : sort(parts, ({ isEventKnown }) => isEventKnown), parts)
}

function sort(parts: Parts, isSorted: (part: TransitionPart) => boolean): Sorted {
  const named = new Map<string, number>()
  const [eventless, doubles]: [number[], number[]] = [[], []]
  for (const [at, part] of parts.entries()) {
    const { event } = part.transition
    if (!isSorted(part)) continue
    if (event === null) eventless.push(at)
    else if (named.has(event)) doubles.push(at)
    else named.set(event, at)
  }
  return { named, eventless, doubles }
}

const isEnd = (named: Sorted['named']): boolean => [...named.keys()].every((event) => event === '$exception')

function choiceOf({ waiting }: Place, { named, eventless }: Sorted, parts: Parts): CompiledState['choice'] {
  const events = new Map([...named].filter(([event]) => event !== '$exception' && event !== '$else'))
  const [exception, otherwise] = [named.get('$exception') ?? null, named.get('$else') ?? null]
  // A transition that nobody knows what takes may be the way on.
  const end = isEnd(named) && parts.every(({ isEventKnown }) => isEventKnown)
  const choice = { events, otherwise, exception, lone: null, timed: [], end }
  if (waiting) return { ...choice, timed: eventless }
  const [lone] = eventless
  return lone !== undefined && isEnd(named) ? { ...choice, lone, end: false } : choice
}

function check({ waiting, pointer }: Place, { named, eventless, doubles }: Sorted, parts: Parts, report: Report): void {
  for (const at of doubles)
    report.fault(
      `${pointer}/transitions/${at}/event`,
      `two transitions of this state are for "${parts[at]?.transition.event}"`,
    )
  if (waiting) return checkTimed(pointer, { named, eventless, doubles }, parts, report)
  const [lone, ...more] = eventless
  if (lone === undefined) return
  for (const at of more) report.fault(`${pointer}/transitions/${at}`, 'two transitions of this state have no event')
  if (!isEnd(named))
    report.warn(
      `${pointer}/transitions/${lone}`,
      'never taken: a transition without event must be the only one besides $exception',
    )
}

function checkTimed(pointer: string, { named, eventless }: Sorted, parts: Parts, report: Report): void {
  if (parts.length === 0) report.fault(pointer, 'a waiting state needs a transition')
  else if (named.has('$exception') && isEnd(named) && eventless.length === 0)
    report.warn(pointer, 'nothing ever ends this wait: there is neither an event nor a time')
  for (const at of eventless) {
    const place = `${pointer}/transitions/${at}`
    const isReported = report.faults.some((fault) => fault.pointer === `${place}/wait`)
    if (!parts[at]?.transition.wait && !isReported)
      report.fault(place, 'a transition without event needs a wait in a waiting state')
  }
}
