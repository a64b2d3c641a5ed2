// engine/record: the index keys of a context, and the keys of a query.
import type { CompiledFlux } from '../../definitions/flux.ts'
import { CONTEXT_STATUSES, isFinished, type ContextId, type Status } from '../../model/context.ts'
import { getOwn } from '../../model/json/value.ts'
import type { ContextRecord } from '../../model/record.ts'
import { contextKeysOf, indexKey } from './context-key.ts'

const eventKey = (event: string, tag: string | null) =>
  tag === null ? indexKey('hear', event) : `${indexKey('hear', event)}:${tag}`
const earlyKey = (event: string, tag: string | null) =>
  tag === null ? indexKey('early', event) : `${indexKey('early', event)}:${tag}`
const elseKey = (tag: string | null) => (tag === null ? 'any' : indexKey('any', tag))
/** Finished and unfinished contexts have separate keys: most queries ask for the unfinished ones, which are few. */
const setOf = (status: Status) => (isFinished(status) ? 'f' : 'u')

interface Service {
  readonly package: string
  readonly fluxName: string
}

/** The key of contexts whose service is secured in their pinned definition. */
export const SECURED = 'secured'
/** The key that these have besides, by service. */
export const keyOfSecured = ({ package: owner, fluxName }: Service): string =>
  indexKey(indexKey(SECURED, owner), fluxName)
/** The key of all other contexts, by service, which may have been secured since. */
export const keyOfOpen = ({ package: owner, fluxName }: Service): string => indexKey(indexKey('open', owner), fluxName)

/** The key of contexts that are paused. */
export const PAUSED = 'paused'
const errorKey = (type: string) => indexKey('error', type)
const parentKey = (id: ContextId) => `parent:${id}`

/**
 * Cached keys of contexts without tags. A service has few different lists of keys, and most commits do not change them.
 */
const untagged = new WeakMap<CompiledFlux, Map<string, readonly string[]>>()

/** The index keys of a context. */
export function indexKeysOf(record: ContextRecord, flux: CompiledFlux): readonly string[] {
  if (record.tags.length > 0) return [...keysOf(record, flux), ...ownKeysOf(record, flux)]
  const lists = untagged.get(flux) ?? new Map<string, readonly string[]>()
  untagged.set(flux, lists)
  const key = `${record.status} ${record.state} ${record.startState} ${record.position.phase}`
  const keys = lists.get(key) ?? keysOf(record, flux)
  lists.set(key, keys)
  const isPlain = record.key === null && record.parent === null && record.error === null && !record.isPaused
  return isPlain ? keys : [...keys, ...ownKeysOf(record, flux)]
}

/** Keys that few other contexts of the service have. */
function ownKeysOf(record: ContextRecord, flux: CompiledFlux): string[] {
  const { error, parent } = record
  const keys = [...contextKeysOf(record, flux)]
  if (error !== null) keys.push(errorKey(error.type))
  if (parent !== null) keys.push(parentKey(parent.id))
  if (record.isPaused) keys.push(PAUSED)
  return keys
}

function keysOf(record: ContextRecord, flux: CompiledFlux): string[] {
  const { status, tags } = record
  const at = setOf(status)
  const terms = [
    `${at}:all`,
    `status:${status}`,
    indexKey(`${at}:flux`, record.fluxName),
    indexKey(`${at}:start`, flux.states[record.startState]?.name ?? ''),
    indexKey(`${at}:state`, flux.states[record.state]?.name ?? ''),
    ...tags.map((tag) => indexKey(`${at}:tag`, tag)),
    ...(getOwn(flux.source, 'secured') === true ? [SECURED, keyOfSecured(record)] : [keyOfOpen(record)]),
  ]
  const choice = record.position.phase === 'waiting' ? flux.states[record.state]?.choice : undefined
  if (choice) {
    for (const tag of tags.length > 0 ? tags : [null]) {
      for (const event of choice.events.keys()) terms.push(eventKey(event, tag))
      if (choice.otherwise !== null) terms.push(elseKey(tag))
    }
  }
  // The same over the life of a context, apart from its tags.
  if (flux.early.size > 0 && !isFinished(status))
    for (const tag of tags.length > 0 ? tags : [null])
      for (const event of flux.early.keys()) terms.push(earlyKey(event, tag))
  return terms
}

/** Facts about the definition of a context that its index keys contain. */
export interface IndexedFacts {
  /** Name of the current state; null: no key has it. */
  readonly state: string | null
  readonly startState: string | null
  /** Events that the context waits for. */
  readonly events: readonly string[]
  readonly takesAny: boolean
  /** True unless a key says that the context is open. */
  readonly isSecured: boolean
}

const INDEX_KEY = /^(?:[uf]:)?(start|state|hear|any):(\d+):(.*)$/s

/** Parses the keys that `indexKeysOf` returns. */
export function parseIndexKeys(terms: readonly string[]): IndexedFacts {
  const [names, events] = [new Map<string, string>(), new Set<string>()]
  for (const term of terms) {
    const [, kind = '', length, rest = ''] = INDEX_KEY.exec(term) ?? []
    const name = rest.slice(0, Number(length))
    if (kind === 'hear') events.add(name)
    else if (kind !== '') names.set(kind, name)
  }
  return {
    state: names.get('state') ?? null,
    startState: names.get('start') ?? null,
    events: [...events],
    takesAny: terms.includes('any') || names.has('any'),
    isSecured: terms.includes(SECURED) || !terms.some((term) => term.startsWith('open:')),
  }
}

/** The events that a context waits for by their names, each with a tag that it must have, by its index keys. */
export function heardEvents(terms: readonly string[]): { readonly event: string; readonly tag: string | null }[] {
  return terms.flatMap((term) => {
    const [, kind, length, rest = ''] = INDEX_KEY.exec(term) ?? []
    if (kind !== 'hear') return []
    const event = rest.slice(0, Number(length))
    return { event, tag: rest.length > event.length ? rest.slice(event.length + 1) : null }
  })
}

/** Keys of which a context that waits for the event by its name has at least one. */
export const keysOfHearers = (event: string, tags: readonly string[]): string[] =>
  (tags.length > 0 ? tags : [null]).map((tag) => eventKey(event, tag))

/** What contexts are asked for by their index keys. */
export interface KeyFilters {
  readonly fluxName?: string | undefined
  readonly key?: string | undefined
  readonly tag?: readonly string[] | undefined
  readonly currentState?: string | undefined
  readonly startState?: string | undefined
  readonly errorType?: string | undefined
  readonly parent?: ContextId | undefined
  readonly paused?: boolean | undefined
}

/**
 * Lists of keys: the contexts with these statuses that pass the filters are those that have all keys of one list. None
 * has all keys of two.
 */
export function keysOfList(filters: KeyFilters, statuses: readonly Status[]): string[][] {
  const named = (at: string) => namedKeys(filters, at)
  const fixed = [
    ...(filters.errorType === undefined ? [] : [errorKey(filters.errorType)]),
    ...(filters.parent === undefined ? [] : [parentKey(filters.parent)]),
    ...(filters.paused === true ? [PAUSED] : []),
  ]
  const hasNames = named('u').length > 0
  if (!hasNames && CONTEXT_STATUSES.every((status) => statuses.includes(status))) return [fixed]
  return ['u', 'f'].flatMap((at) => {
    const own = CONTEXT_STATUSES.filter((status) => setOf(status) === at)
    const some = own.filter((status) => statuses.includes(status))
    if (some.length < own.length) return some.map((status) => [...named(at), ...fixed, `status:${status}`])
    return [[...(hasNames ? named(at) : [`${at}:all`]), ...fixed]]
  })
}

const namedKeys = ({ fluxName, key, startState, currentState, tag = [] }: KeyFilters, at: string): string[] => [
  ...(fluxName !== undefined ? [indexKey(`${at}:flux`, fluxName)] : []),
  ...(key !== undefined ? [indexKey(`${at}:key`, key)] : []),
  ...(startState !== undefined ? [indexKey(`${at}:start`, startState)] : []),
  ...(currentState !== undefined ? [indexKey(`${at}:state`, currentState)] : []),
  ...tag.map((name) => indexKey(`${at}:tag`, name)),
]

/** Keys of which an unfinished context that keeps the event when it comes early has at least one. */
export const keysOfEarly = (event: string, tags: readonly string[]): string[] =>
  (tags.length > 0 ? tags : [null]).map((tag) => earlyKey(event, tag))

/** Keys of which a context that waits for the event has at least one. */
export function keysOfEvent(event: string, tags: readonly string[]): string[] {
  return (tags.length > 0 ? tags : [null]).flatMap((tag) => [eventKey(event, tag), elseKey(tag)])
}
