// engine/calls: determines whether any service knows an event. It is consulted only when an event had no effect, so other
// events cost nothing.
import type { Catalog } from '../../definitions/catalog.ts'
import { denial, type Caller } from '../../model/caller.ts'
import type { ContextId } from '../../model/context.ts'
import { triggerEvents } from '../../definitions/compile/triggers.ts'
import { readPinned } from '../../definitions/pinned/text.ts'
import { getOwn, isObject, type JsonObject } from '../../model/json/value.ts'
import { nearestName, NamesByLength } from '../../model/nearest.ts'
import { breathe } from '../../model/texts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { definitionOf } from '../record/decode.ts'
import { unfinishedKey } from '../record/index-keys.ts'

/** Stored definitions that are searched in addition to the loaded ones. If there are more, no hint is given. */
const MOST_DEFINITIONS = 1000

/** Definitions that are read before the event loop is served. */
const READ_AT_ONCE = 16

/**
 * Limits of the search for an unfinished context of a definition: contexts, contexts per read, and characters. If a
 * limit is reached, such a context is assumed to exist.
 */
const SEARCH_LIMITS = { contexts: 200, page: 8, characters: 4_000_000 }

/** Milliseconds for which the result of that search is cached. */
const PINNED_FOR_MS = 10_000

/** What the comparison with a name counts as, in characters that are parsed. */
const CHARACTERS_A_NAME = 8

interface EventNames {
  readonly names: ReadonlySet<string>
  /** Whether a transition has `$else`, which takes any event. */
  readonly takesAny: boolean
}

/** The names of many definitions. */
interface Union extends EventNames {
  readonly byLength: NamesByLength
}

interface Stored extends EventNames {
  readonly hash: string
  readonly package: string
  readonly fluxName: string
  readonly secured: boolean
}

interface Loaded {
  readonly hashes: ReadonlySet<string>
  readonly all: Union
  readonly open: Union
  readonly hasSecured: boolean
  /** The names of the stored definitions that were found last, for those who may do everything, and for others. */
  stored: { readonly definitions: readonly Stored[]; readonly all: Union; readonly open: Union } | null
}

export interface EventHintsParts {
  readonly catalog: Catalog
  readonly store: Store
  readonly clock: Clock
}

export class EventHints {
  readonly #parts: EventHintsParts
  readonly #loaded = new WeakMap<object, Loaded>()
  /** Stored definitions by hash; null: the definition cannot be read. */
  #stored = new Map<string, Stored | null>()
  #definitions: readonly Stored[] = []
  readonly #pinned = new Map<string, { readonly is: boolean; readonly at: number }>()
  #reading: Promise<readonly Stored[] | null> | null = null

  constructor(parts: EventHintsParts) {
    this.#parts = parts
  }

  /**
   * A sentence that no loaded definition, and no definition of an unfinished context, knows the event, with the most
   * similar known event; null if one knows it. Services that the caller may not use are left out.
   */
  async hintFor(event: string, caller: Caller): Promise<string | null> {
    const mayAll = denial(caller, 'invoke') === null
    const known = this.#names()
    const loaded = mayAll ? known.all : known.open
    if (knows(loaded, event)) return null
    const stored = await (this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    }))
    if (stored === null) return null
    const others = mayAll ? stored : stored.filter((one) => !this.#isSecured(one))
    if (await this.#anyPinned(others.filter((one) => knows(one, event)))) return null
    const nearest = await this.#nearest(event, loaded, { others, names: this.#storedNames(known, stored, mayAll) })
    const who = known.hasSecured && !mayAll ? 'no service that is open to you' : 'no service'
    return `${who} knows the event '${event}'${nearest === null ? '' : `; did you mean '${nearest}'?`}`
  }

  #names(): Loaded {
    const services = this.#parts.catalog.all()
    const known = this.#loaded.get(services)
    if (known) return known
    const hasSecured = services.some(({ secured }) => secured)
    const all = union(services.map(({ source }) => eventsOf(source)))
    const open = hasSecured
      ? union(services.flatMap(({ secured, source }) => (secured ? [] : [eventsOf(source)])))
      : all
    const loaded = { hashes: new Set(services.map(({ hash }) => hash)), all, open, hasSecured, stored: null }
    this.#loaded.set(services, loaded)
    return loaded
  }

  /** The stored definitions that are not loaded; null if there are too many. */
  async #read(): Promise<readonly Stored[] | null> {
    const { store } = this.#parts
    const { hashes } = this.#names()
    const others = (await store.definitions()).filter((hash) => !hashes.has(hash))
    if (others.length > MOST_DEFINITIONS) return null
    if (others.length === this.#stored.size && others.every((hash) => this.#stored.has(hash))) return this.#definitions
    const found = new Map<string, Stored | null>()
    for (const [index, hash] of others.entries()) {
      const known = this.#stored.get(hash)
      if (known === undefined && index % READ_AT_ONCE === 0)
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
      found.set(hash, known === undefined ? storedOf(hash, await store.getDefinition({ hash })) : known)
    }
    this.#stored = found
    for (const hash of this.#pinned.keys()) if (!found.has(hash)) this.#pinned.delete(hash)
    this.#definitions = [...found.values()].flatMap((one) => one ?? [])
    return this.#definitions
  }

  #storedNames(loaded: Loaded, definitions: readonly Stored[], mayAll: boolean): Union {
    if (loaded.stored?.definitions !== definitions) {
      const open = definitions.filter((one) => !this.#isSecured(one))
      loaded.stored = { definitions, all: union(definitions), open: union(open) }
    }
    return mayAll ? loaded.stored.all : loaded.stored.open
  }

  /** A service that is secured now also secures its running contexts. */
  #isSecured({ secured, package: owner, fluxName }: Stored): boolean {
    return secured || this.#parts.catalog.find(owner, fluxName)?.secured === true
  }

  async #nearest(
    event: string,
    loaded: Union,
    stored: { readonly others: readonly Stored[]; readonly names: Union },
  ): Promise<string | null> {
    await breathe((loaded.byLength.size + stored.names.byLength.size) * CHARACTERS_A_NAME)
    const own = nearestName(event, loaded.byLength.near(event))
    const nearest = nearestName(event, candidates(event, own, stored.names))
    if (nearest === null || nearest === own || loaded.names.has(nearest)) return nearest
    return (await this.#anyPinned(stored.others.filter((one) => one.names.has(nearest)))) ? nearest : own
  }

  async #anyPinned(candidates: readonly Stored[]): Promise<boolean> {
    const { clock } = this.#parts
    for (const { hash, fluxName } of candidates) {
      const known = this.#pinned.get(hash)
      const is =
        known !== undefined && clock.now() - known.at < PINNED_FOR_MS ? known.is : await this.#runs(hash, fluxName)
      if (known?.is !== is || clock.now() - known.at >= PINNED_FOR_MS) this.#pinned.set(hash, { is, at: clock.now() })
      if (is) return true
    }
    return false
  }

  /**
   * Whether an unfinished context was started with that definition. True also if a limit of `SEARCH_LIMITS` is reached
   * first.
   */
  async #runs(hash: string, fluxName: string): Promise<boolean> {
    const all = [unfinishedKey(fluxName)]
    let [after, contexts, characters]: [ContextId, number, number] = [0, 0, 0]
    while (contexts < SEARCH_LIMITS.contexts && characters < SEARCH_LIMITS.characters) {
      const page = await this.#parts.store.list({ all, limit: SEARCH_LIMITS.page, after })
      if (page.some((stored) => definitionOf(stored) === hash)) return true
      const last = page.at(-1)
      if (last === undefined || page.length < SEARCH_LIMITS.page) return false
      after = last.id
      contexts += page.length
      for (const { parts } of page) for (const text of Object.values(parts)) characters += text.length
    }
    return true
  }
}

const knows = ({ names, takesAny }: EventNames, event: string): boolean => takesAny || names.has(event)

/** The nearest name of a loaded service counts more than others that are as near. */
function* candidates(event: string, own: string | null, { byLength }: Union): Generator<string, void> {
  if (own !== null) yield own
  yield* byLength.near(event)
}

function union(all: readonly EventNames[]): Union {
  const names = new Set(all.flatMap((one) => [...one.names]))
  return { names, byLength: new NamesByLength(names), takesAny: all.some(({ takesAny }) => takesAny) }
}

function storedOf(hash: string, text: string | null): Stored | null {
  const stored = text === null ? null : readPinned(text)
  if (stored === null) return null
  const { package: owner, fluxName, source } = stored
  return { hash, package: owner, fluxName, secured: getOwn(source, 'secured') === true, ...eventsOf(source) }
}

/**
 * The events that the source of a service names. The source is not compiled, because an old definition may not compile.
 */
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
