// definitions: groups the transitions of a state by what triggers them.
import type { CompiledState } from '../flux.ts'
import type { Report } from '../report.ts'
import type { StateOutline } from './outline.ts'

/** Whether senders, or the action, can name the event. */
export const isOwnEvent = (event: string): boolean => event !== '' && event !== '$else' && event !== '$exception'

export function compileChoice(
  { waiting, transitions, pointer }: StateOutline,
  report: Report,
): CompiledState['choice'] {
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
