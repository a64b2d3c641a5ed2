// engine/calls: determines whether any loaded service knows an event. It is consulted only when an event had no effect,
// so other events cost nothing.
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
  const mayAll = denial(caller, 'invoke') === null
  const all = catalog.all()
  const services = all.filter(({ secured }) => mayAll || !secured)
  const choices = services.flatMap(({ states }) => states.map(({ choice }) => choice))
  const events = [
    ...choices.flatMap(({ events: named }) => [...named.keys()]),
    ...services.flatMap(({ triggers }) => triggers.map(({ event: name }) => name)),
  ]
  const names = new Set(events.filter(isSendable))
  // `$else` takes any event.
  if (names.has(event) || choices.some(({ otherwise }) => otherwise !== null)) return {}
  const who = services.length < all.length ? 'no service that is open to you' : 'no service'
  return { hint: `${who} knows the event '${event}'${suggestion(event, names)}` }
}
