// engine/calls: determines whether any loaded service knows an event. It is consulted only when an event had no effect,
// so other events cost nothing.
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial, type Caller } from '../../model/caller.ts'
import { suggestion } from '../../model/nearest.ts'

/** The events that services name. */
interface EventNames {
  readonly names: ReadonlySet<string>
  /** Whether a transition has `$else`, which takes any event. */
  readonly takesAny: boolean
}

/** Events of other names are refused before any context sees them. */
export const isSendable = (event: string): boolean => event !== '' && !event.startsWith('$')

export class EventHints {
  readonly #catalog: Catalog
  /** Of the services of the last load: of all, and of those that are not secured. */
  #known: { readonly of: readonly CompiledFlux[]; readonly all: EventNames; readonly open: EventNames } | null = null

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /**
   * A sentence that no loaded service knows the event, with the most similar known event; null if one knows it. Services
   * that the caller may not use are left out.
   */
  hintFor(event: string, caller: Caller): string | null {
    const of = this.#catalog.all()
    if (this.#known?.of !== of)
      this.#known = { of, all: namesOf(of), open: namesOf(of.filter(({ secured }) => !secured)) }
    const mayAll = denial(caller, 'invoke') === null
    const { names, takesAny } = mayAll ? this.#known.all : this.#known.open
    if (takesAny || names.has(event)) return null
    const isPart = !mayAll && of.some(({ secured }) => secured)
    const who = isPart ? 'no service that is open to you' : 'no service'
    return `${who} knows the event '${event}'${suggestion(event, names)}`
  }
}

function namesOf(services: readonly CompiledFlux[]): EventNames {
  const choices = services.flatMap(({ states }) => states.map(({ choice }) => choice))
  const events = [
    ...choices.flatMap(({ events: named }) => [...named.keys()]),
    ...services.flatMap(({ triggers }) => triggers.map(({ event }) => event)),
  ]
  const names = new Set(events.filter(isSendable))
  return { names, takesAny: choices.some(({ otherwise }) => otherwise !== null) }
}
