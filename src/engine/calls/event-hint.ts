// engine/calls: determines whether any loaded service knows an event. It is consulted only when an event had no effect,
// so other events cost nothing.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import { suggestion } from '../../model/nearest.ts'
import type { CallEnv } from './call-env.ts'

/** Events of other names are refused before any context sees them. */
export const isSendable = (event: string): boolean => event !== '' && !event.startsWith('$')

/**
 * A sentence that no loaded service knows the event, with the most similar known event, unless one knows it. Services
 * that the caller may not use are left out.
 */
export function hintOn({ catalog, caller }: CallEnv, event: string): { hint?: string } {
  const all = catalog.all()
  const known = knownIn.get(all) ?? { all: eventsOf(all), open: eventsOf(all.filter(({ secured }) => !secured)) }
  knownIn.set(all, known)
  const mayAll = denial(caller, 'invoke') === null
  const { names, takesAny } = mayAll ? known.all : known.open
  if (takesAny || names.has(event)) return {}
  const who = !mayAll && all.some(({ secured }) => secured) ? 'no service that is open to you' : 'no service'
  return { hint: `${who} knows the event '${event}'${suggestion(event, names)}` }
}

/**
 * The events of the loaded services, computed once per load: a stranger can ask for them with each line of a request.
 */
const knownIn = new WeakMap<readonly CompiledFlux[], { readonly all: Events; readonly open: Events }>()

type Events = ReturnType<typeof eventsOf>

const eventsOf = (services: readonly CompiledFlux[]) => ({
  names: new Set(services.flatMap(eventsNamedIn)),
  // `$else` takes any event.
  takesAny: services.some(({ states }) => states.some(({ choice }) => choice.otherwise !== null)),
})

/** The events that the states and the triggers of a service name, in the order of its definition. */
export const eventsNamedIn = ({ states, triggers }: CompiledFlux): string[] =>
  [...states.flatMap(({ choice }) => [...choice.events.keys()]), ...triggers.map(({ event }) => event)].filter(
    isSendable,
  )
