// definitions: what stands in for a definition of which nothing can be read any more: names and states, as far as a
// context tells them. Its contexts can be looked at, listed, tagged and terminated; what carries one on makes it fail.
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import { brokenState, placeholderOf } from '../compile/state.ts'
import type { CompiledFlux } from '../flux.ts'

/** What a context tells of a state. */
export interface KnownState {
  readonly index: number
  /** null: only its place is known. */
  readonly name: string | null
  /** Events that it waits for. */
  readonly events: readonly string[]
  /** It takes all others, too. */
  readonly takesAny: boolean
}

export interface LostDefinition {
  readonly hash: string
  readonly package: string
  readonly fluxName: string
  readonly secured: boolean
  /** Why it can't be read. */
  readonly reason: string
  /** The file's content, where that can be read. */
  readonly source: JsonObject | null
  /** A later version of the program wrote it. */
  readonly isNewer: boolean
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
  isNewer,
  states: known,
}: LostDefinition): CompiledFlux {
  const byIndex = new Map(known.map((state) => [state.index, state]))
  const names = new Set(known.flatMap(({ name }) => name ?? []))
  const states = Array.from({ length: Math.max(0, ...byIndex.keys()) + 1 }, (_, index) => {
    const { name = null, events = [], takesAny = false } = byIndex.get(index) ?? {}
    const state = brokenState(index, name ?? unused(placeholderOf(index), names), reason)
    // They lead nowhere: the action fails before one is taken.
    return {
      ...state,
      choice: { ...state.choice, events: new Map(events.map((event) => [event, 0])), otherwise: takesAny ? 0 : null },
    }
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
    webhooks: [],
    secured,
    allowExtraProperties: false,
    states,
    stateIndex: new Map(states.map(({ name, index }) => [name, index])),
    startState: 0,
    faults: [reason],
    lost: source === null ? reason : null,
    isNewer,
  }
}

/** The name, or one like it that no other state has. */
export function unused(name: string, names: Set<string>): string {
  let free = name
  while (names.has(free)) free += '_'
  names.add(free)
  return free
}
