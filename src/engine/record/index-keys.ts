// engine/record: the index keys of a context, and the keys of a query.
import type { OperationFilter } from '../../api/operations.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial, type Caller, type Role } from '../../model/caller.ts'
import { CONTEXT_STATUSES, type ContextId, type ContextRecord, isFinished, type Status } from '../../model/context.ts'
import { getOwn } from '../../model/json/value.ts'
import { partitionOf } from '../../model/rows.ts'

/** A key means something within one service only. */
export interface KeyAddress {
  readonly package: string
  readonly fluxName: string
  readonly key: string
}
type Service = Omit<KeyAddress, 'key'>
type Tag = string | null

/** An index key made of names: each is length-prefixed, so that different names never give the same key. */
const indexKey = (kind: string, name: string) => `${kind}:${name.length}:${name}`
const ofService = (kind: string, { package: owner, fluxName }: Service) => indexKey(indexKey(kind, owner), fluxName)

/** Index key of the contexts that have the key, as long as they are kept. */
export const keptKey = (address: KeyAddress): string => indexKey(ofService('key', address), address.key)
/** Index key of the context that uses the key: no other may. */
export const usingKey = (address: KeyAddress): string => indexKey(ofService('using', address), address.key)

/** The partition in which all contexts of that key lie. */
export const partitionOfKey = (address: KeyAddress, partitions: number): number =>
  partitions === 1 ? 0 : partitionOf(keptKey(address), partitions)

/** The key of a context and its service; null: it has none. */
export const addressOf = ({
  package: owner,
  fluxName,
  key,
}: Pick<ContextRecord, keyof KeyAddress>): KeyAddress | null =>
  key === null ? null : { package: owner, fluxName, key }

/** The key of contexts whose service is secured in their pinned definition. */
export const SECURED = 'secured'
/** The key that these have besides, by service. */
export const keyOfSecured = (service: Service): string => ofService(SECURED, service)
/** The key of all other contexts, by service, which may have been secured since. */
export const keyOfOpen = (service: Service): string => ofService('open', service)
/** The key of contexts that are paused. */
export const PAUSED = 'paused'

/** Contexts with tags have a key for each, contexts without tags one for all. */
const tagged = (key: string, tag: Tag) => (tag === null ? key : `${key}:${tag}`)
const eventKey = (event: string, tag: Tag) => tagged(indexKey('hear', event), tag)
const earlyKey = (event: string, tag: Tag) => tagged(indexKey('early', event), tag)
const elseKey = (tag: Tag) => tagged('any', tag)
const eachOf = (tags: readonly string[]) => (tags.length > 0 ? tags : [null])
const errorKey = (type: string) => indexKey('error', type)
const parentKey = (id: ContextId) => `parent:${id}`

/** Finished and unfinished contexts have separate keys: most queries ask for the unfinished ones, which are few. */
const setOf = (status: Status) => (isFinished(status) ? 'f' : 'u')

/**
 * Cached keys of contexts without tags. A service has few different lists of keys, and most commits do not change them.
 */
const untagged = new WeakMap<CompiledFlux, Map<string, readonly string[]>>()

/** The index keys of a context. */
export function indexKeysOf(record: ContextRecord, flux: CompiledFlux): readonly string[] {
  const own = ownKeysOf(record, flux)
  if (record.tags.length > 0) return [...keysOf(record, flux), ...own]
  const lists = untagged.get(flux) ?? new Map<string, readonly string[]>()
  untagged.set(flux, lists)
  const key = `${record.status} ${record.state} ${record.startState} ${record.position.phase}`
  const keys = lists.get(key) ?? keysOf(record, flux)
  lists.set(key, keys)
  return own.length === 0 ? keys : [...keys, ...own]
}

/** Keys that few other contexts of the service have. */
function ownKeysOf(record: ContextRecord, { keyReuse }: CompiledFlux) {
  const { error, parent, status } = record
  const address = addressOf(record)
  const keys: string[] = []
  if (address !== null) {
    keys.push(indexKey(`${setOf(status)}:key`, address.key), keptKey(address))
    if (!isFinished(status) || keyReuse !== 'ended') keys.push(usingKey(address))
  }
  if (error !== null) keys.push(errorKey(error.type))
  if (parent !== null) keys.push(parentKey(parent.id))
  if (record.isPaused) keys.push(PAUSED)
  return keys
}

function keysOf(record: ContextRecord, flux: CompiledFlux) {
  const { status, tags, position } = record
  const at = setOf(status)
  const state = flux.states[record.state]
  const keys = [
    `${at}:all`,
    `status:${status}`,
    indexKey(`${at}:flux`, record.fluxName),
    indexKey(`${at}:start`, flux.states[record.startState]?.name ?? ''),
    indexKey(`${at}:state`, state?.name ?? ''),
    ...tags.map((tag) => indexKey(`${at}:tag`, tag)),
    ...(getOwn(flux.source, 'secured') === true ? [SECURED, keyOfSecured(record)] : [keyOfOpen(record)]),
  ]
  for (const tag of eachOf(tags)) {
    if (state && position.phase === 'waiting') {
      for (const event of state.choice.events.keys()) keys.push(eventKey(event, tag))
      if (state.choice.otherwise !== null) keys.push(elseKey(tag))
    }
    // The same over the life of a context, apart from its tags.
    if (!isFinished(status)) for (const event of flux.early.keys()) keys.push(earlyKey(event, tag))
  }
  return keys
}

const NAMED_KEY = /^(?:[uf]:)?(start|state|hear):(\d+):(.*)$/s

/** The names in keys that `indexKeysOf` returns: of states, and of events, each with a tag. */
const namesIn = (keys: readonly string[]) =>
  keys.flatMap((key) => {
    const [, kind, length, rest = ''] = NAMED_KEY.exec(key) ?? []
    const name = rest.slice(0, Number(length))
    return kind === undefined ? [] : [{ kind, name, tag: rest === name ? null : rest.slice(name.length + 1) }]
  })

/**
 * Facts about the definition of a context that its index keys contain: the names of its states, null where no key has
 * it; the events that it waits for; whether it is secured, unless a key says that it is open.
 */
export function parseIndexKeys(keys: readonly string[]) {
  const names = namesIn(keys)
  const nameOf = (kind: string) => names.find((one) => one.kind === kind)?.name ?? null
  return {
    state: nameOf('state'),
    startState: nameOf('start'),
    events: [...new Set(heardEvents(keys).map(({ event }) => event))],
    takesAny: keys.some((key) => key === 'any' || key.startsWith('any:')),
    isSecured: keys.includes(SECURED) || !keys.some((key) => key.startsWith('open:')),
  }
}

/** The events that a context waits for by their names, each with a tag that it must have, by its index keys. */
export const heardEvents = (keys: readonly string[]): { readonly event: string; readonly tag: string | null }[] =>
  namesIn(keys).flatMap(({ kind, name, tag }) => (kind === 'hear' ? [{ event: name, tag }] : []))

/** A context that waits for the event by its name has at least one of these keys. */
export const keysOfHearers = (event: string, tags: readonly string[]): string[] =>
  eachOf(tags).map((tag) => eventKey(event, tag))

/** A context that waits for the event, or keeps it when it comes early, has at least one of these keys. */
export const keysOfReceivers = (event: string, tags: readonly string[]): string[] =>
  eachOf(tags).flatMap((tag) => [eventKey(event, tag), elseKey(tag), earlyKey(event, tag)])

/**
 * Lists of keys: the contexts with these statuses that pass the filters are those that have all keys of one list. None
 * has all keys of two.
 */
export function keysOfList(filters: OperationFilter, statuses: readonly Status[]): string[][] {
  const { fluxName, key, startState, currentState, tag = [], errorType, parent, paused } = filters
  const named = Object.entries({ flux: [fluxName], key: [key], start: [startState], state: [currentState], tag })
  const namedIn = (at: string) =>
    named.flatMap(([kind, names]) =>
      names.flatMap((name) => (name === undefined ? [] : indexKey(`${at}:${kind}`, name))),
    )
  const fixed = [
    ...(errorType === undefined ? [] : [errorKey(errorType)]),
    ...(parent === undefined ? [] : [parentKey(parent)]),
    ...(paused === true ? [PAUSED] : []),
  ]
  if (namedIn('').length === 0 && CONTEXT_STATUSES.every((status) => statuses.includes(status))) return [fixed]
  return ['u', 'f'].flatMap((at) => {
    const keys = namedIn(at)
    const own = CONTEXT_STATUSES.filter((status) => setOf(status) === at)
    const some = own.filter((status) => statuses.includes(status))
    if (some.length < own.length) return some.map((status) => [...keys, ...fixed, `status:${status}`])
    return [[...(keys.length > 0 ? keys : [`${at}:all`]), ...fixed]]
  })
}

/**
 * Index keys of the contexts for which the caller would need that role, and lacks it: their service was secured when
 * they were started, or is secured now. The caller must not learn of them, not even how many they are.
 */
export function hiddenFrom(
  { catalog, caller }: { readonly catalog: Pick<Catalog, 'all'>; readonly caller: Pick<Caller, 'roles'> },
  role: Role,
): string[] {
  if (denial(caller, role) === null) return []
  const secured = catalog.all().filter((flux) => flux.secured)
  return [SECURED, ...secured.map(keyOfOpen)]
}
