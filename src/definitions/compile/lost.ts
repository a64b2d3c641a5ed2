// definitions: a substitute for a definition that can't be read any more. It has the names and states that a context's
// record contains. Its contexts can be read, listed, tagged and terminated; anything that would continue one makes it
// fail.
import { getOwn, type JsonObject } from '../../model/json/value.ts'
import type { CompiledFlux } from '../flux.ts'
import { brokenState, NOTHING, placeholderOf, unused } from './states.ts'

/** What the record of a context contains about a state. */
export interface KnownState {
  readonly index: number
  /** null or absent: only its index is known. */
  readonly name?: string | null
  /** Events that the context waits for in this state. */
  readonly events?: readonly string[]
  /** Whether the state accepts all other events, too. */
  readonly takesAny?: boolean
}

export interface LostDefinition extends Pick<CompiledFlux, 'hash' | 'package' | 'fluxName' | 'secured' | 'isForeign'> {
  /** Why the definition can't be read. */
  readonly reason: string
  /** The content of the file; null if it can't be read. */
  readonly source: JsonObject | null
  readonly states: readonly KnownState[]
}

export function lostFlux({ reason, source, states: known, ...about }: LostDefinition): CompiledFlux {
  const byIndex = new Map(known.map((state) => [state.index, state]))
  const names = new Set(known.flatMap(({ name }) => name ?? []))
  const states = Array.from({ length: Math.max(0, ...byIndex.keys()) + 1 }, (_, index) => {
    const { name = null, events = [], takesAny = false } = byIndex.get(index) ?? {}
    const choice = { events: new Map(events.map((event) => [event, 0])), otherwise: takesAny ? 0 : null }
    const state = { index, name: name ?? unused(placeholderOf(index), names), input: NOTHING, output: NOTHING, choice }
    return brokenState(state, reason)
  })
  return {
    ...about,
    text: '',
    source: source ?? { ...(about.secured && { secured: true }) },
    input: NOTHING,
    output: NOTHING,
    tags: [],
    key: null,
    keyReuse: source && getOwn(source, 'keyReuse') === 'never' ? 'never' : 'ended',
    triggers: [],
    early: new Map(),
    onEnd: null,
    webhooks: [],
    isSensitive: false,
    states,
    stateIndex: new Map(states.map(({ name, index }) => [name, index])),
    startState: 0,
    faults: [reason],
    lost: source === null ? reason : null,
  }
}
