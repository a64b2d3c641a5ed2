// definitions: a substitute for a definition that can't be read any more. It has the names and states that a context's
// record contains. Its contexts can be read, listed, tagged and terminated; anything that would continue one makes it
// fail.
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import { brokenState, placeholderOf } from './state.ts'
import type { CompiledFlux } from '../flux.ts'

/** What the record of a context contains about a state. */
export interface KnownState {
  readonly index: number
  /** null: only its index is known. */
  readonly name: string | null
  /** Events that the context waits for in this state. */
  readonly events: readonly string[]
  /** Whether the state accepts all other events, too. */
  readonly takesAny: boolean
}

export interface LostDefinition {
  readonly hash: string
  readonly package: string
  readonly fluxName: string
  readonly secured: boolean
  /** Why the definition can't be read. */
  readonly reason: string
  /** The content of the file; null if it can't be read. */
  readonly source: JsonObject | null
  /** Whether it has another format than this version's. */
  readonly isForeign: boolean
  readonly states: readonly KnownState[]
}

const NOTHING = { properties: new Map(), extra: false }

export function lostFlux({
  hash,
  package: owner,
  fluxName,
  secured,
  reason,
  source,
  isForeign,
  states: known,
}: LostDefinition): CompiledFlux {
  const byIndex = new Map(known.map((state) => [state.index, state]))
  const names = new Set(known.flatMap(({ name }) => name ?? []))
  const states = Array.from({ length: Math.max(0, ...byIndex.keys()) + 1 }, (_, index) => {
    const { name = null, events = [], takesAny = false } = byIndex.get(index) ?? {}
    const choice = { events: new Map(events.map((event) => [event, 0])), otherwise: takesAny ? 0 : null }
    return brokenState({ index, name: name ?? unused(placeholderOf(index), names), choice }, reason)
  })
  return {
    hash,
    text: '',
    package: owner,
    fluxName,
    source: source ?? { ...(secured && { secured }) },
    input: NOTHING,
    output: NOTHING,
    tags: [],
    key: null,
    keyReuse: source && getOwn(source, 'keyReuse') === 'never' ? 'never' : 'ended',
    triggers: [],
    early: new Map(),
    onEnd: null,
    webhooks: [],
    secured,
    allowExtraProperties: false,
    isSensitive: false,
    states,
    stateIndex: new Map(states.map(({ name, index }) => [name, index])),
    startState: 0,
    faults: [reason],
    lost: source === null ? reason : null,
    isForeign,
  }
}

/** Returns the name, with underscores appended until no other state has it, and adds it to `names`. */
export function unused(name: string, names: Set<string>): string {
  let free = name
  while (names.has(free)) free += '_'
  names.add(free)
  return free
}
