// definitions: groups the transitions of a state by what triggers them.
import type { CompiledState, CompiledTransition } from '../flux.ts'
import type { Report } from '../report.ts'

export interface TransitionPart {
  readonly transition: CompiledTransition
  /** Whether the transition could be read. For one that could not, nothing more is reported. */
  readonly isWhole: boolean
}

type Parts = readonly TransitionPart[]

interface StatePart {
  readonly waiting: boolean
  readonly pointer: string
}

interface Sorted {
  /** By event. If several have the same event, the first. */
  readonly named: ReadonlyMap<string, number>
  readonly eventless: readonly number[]
  /** Those with the same event as an earlier one. */
  readonly duplicates: readonly number[]
}

export function compileChoice(place: StatePart, parts: Parts, report: Report): CompiledState['choice'] {
  const sorted = sort(parts)
  check(place, sorted, parts, report)
  return choiceOf(place, sorted, parts)
}

function sort(parts: Parts): Sorted {
  const named = new Map<string, number>()
  const [eventless, duplicates]: [number[], number[]] = [[], []]
  for (const [at, part] of parts.entries()) {
    const { event } = part.transition
    if (!part.isWhole) continue
    if (event === null) eventless.push(at)
    else if (named.has(event)) duplicates.push(at)
    else named.set(event, at)
  }
  return { named, eventless, duplicates }
}

const isEnd = (named: Sorted['named']): boolean => [...named.keys()].every((event) => event === '$exception')

function choiceOf({ waiting }: StatePart, { named, eventless }: Sorted, parts: Parts): CompiledState['choice'] {
  const own = [...named].filter(([event]) => event !== '$exception' && event !== '$else')
  const isInternal = (at: number) => parts[at]?.transition.internal === true
  const events = new Map(own.filter(([, at]) => !isInternal(at)))
  const internal = new Map(own.filter(([, at]) => isInternal(at)))
  const [exception, otherwise] = [named.get('$exception') ?? null, named.get('$else') ?? null]
  const choice = { events, internal, otherwise, exception, lone: null, timed: [], end: isEnd(named) }
  if (waiting) return { ...choice, timed: eventless }
  const [lone] = eventless
  return lone !== undefined && isEnd(named) ? { ...choice, lone, end: false } : choice
}

function check(
  { waiting, pointer }: StatePart,
  { named, eventless, duplicates }: Sorted,
  parts: Parts,
  report: Report,
): void {
  for (const at of duplicates)
    report.fault(
      `${pointer}/transitions/${at}/event`,
      `two transitions of this state are for "${parts[at]?.transition.event}"`,
    )
  if (waiting) return checkTimed(pointer, { named, eventless, duplicates }, parts, report)
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
  const isUnsent = ([event, at]: [string, number]) => event === '$exception' || parts[at]?.transition.internal === true
  if (parts.length === 0) report.fault(pointer, 'a waiting state needs a transition')
  else if (named.size > 0 && [...named].every(isUnsent) && eventless.length === 0)
    report.warn(pointer, 'nothing ever ends this wait: there is neither an event nor a time')
  for (const at of eventless) {
    const place = `${pointer}/transitions/${at}`
    const isReported = report.faults.some((fault) => fault.pointer === `${place}/wait`)
    if (!parts[at]?.transition.wait && !isReported)
      report.fault(place, 'a transition without event needs a wait in a waiting state')
  }
}
