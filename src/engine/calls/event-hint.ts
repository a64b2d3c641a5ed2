// engine/calls: determines whether any loaded service knows an event. It is consulted only when an event had no effect,
// so other events cost nothing.
import type { Catalog } from '../../definitions/catalog.ts'
import { denial, type Caller } from '../../model/caller.ts'
import { triggerEvents } from '../../definitions/compile/triggers.ts'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import { nearestName, NamesByLength } from '../../model/nearest.ts'

interface EventNames {
  readonly names: ReadonlySet<string>
  /** Whether a transition has `$else`, which takes any event. */
  readonly takesAny: boolean
}

/** The names of many services. */
interface Union extends EventNames {
  readonly byLength: NamesByLength
}

interface Loaded {
  readonly all: Union
  readonly open: Union
  readonly hasSecured: boolean
}

export class EventHints {
  readonly #catalog: Catalog
  /** By the list of services, which is another one after each load. */
  readonly #loaded = new WeakMap<object, Loaded>()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /**
   * A sentence that no loaded service knows the event, with the most similar known event; null if one knows it. Services
   * that the caller may not use are left out.
   */
  hintFor(event: string, caller: Caller): string | null {
    const mayAll = denial(caller, 'invoke') === null
    const { all, open, hasSecured } = this.#names()
    const { names, takesAny, byLength } = mayAll ? all : open
    if (takesAny || names.has(event)) return null
    const nearest = nearestName(event, byLength.near(event))
    const who = hasSecured && !mayAll ? 'no service that is open to you' : 'no service'
    return `${who} knows the event '${event}'${nearest === null ? '' : `; did you mean '${nearest}'?`}`
  }

  #names(): Loaded {
    const services = this.#catalog.all()
    const known = this.#loaded.get(services)
    if (known) return known
    const hasSecured = services.some(({ secured }) => secured)
    const all = union(services.map(({ source }) => eventsOf(source)))
    const open = hasSecured
      ? union(services.flatMap(({ secured, source }) => (secured ? [] : [eventsOf(source)])))
      : all
    const loaded = { all, open, hasSecured }
    this.#loaded.set(services, loaded)
    return loaded
  }
}

function union(all: readonly EventNames[]): Union {
  const names = new Set(all.flatMap((one) => [...one.names]))
  return { names, byLength: new NamesByLength(names), takesAny: all.some(({ takesAny }) => takesAny) }
}

/** The events that the source of a service names. */
function eventsOf(source: JsonObject): EventNames {
  const transitions = objectsIn(source, 'states')
    .flatMap((state) => objectsIn(state, 'transitions'))
    .filter((transition) => getOwn(transition, 'internal') !== true)
  const events = transitions.map((transition) => getOwn(transition, 'event'))
  const names = [...events, ...triggerEvents(source)].filter(
    (name) => typeof name === 'string' && name !== '' && !name.startsWith('$'),
  )
  return { names: new Set(names.map(String)), takesAny: events.includes('$else') }
}

function objectsIn(object: JsonObject, name: string): JsonObject[] {
  const list = getOwn(object, name)
  return Array.isArray(list) ? list.filter(isObject) : []
}
