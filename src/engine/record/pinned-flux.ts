// engine/record: the definition that a stored context was started with; where nothing of it is left, one made from what
// the record and its index keys contain.
import type { Catalog } from '../../definitions/catalog.ts'
import { UnreadableDefinition } from '../../definitions/definition-error.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { lostFlux, type KnownState } from '../../definitions/pinned/lost.ts'
import { isFinished } from '../../model/context.ts'
import { unreadable } from '../../model/failure.ts'
import type { ContextRecord } from '../../model/record.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { hasPlace } from '../interpreter/places.ts'
import { parseIndexKeys } from './index-keys.ts'

interface Parts {
  readonly catalog: Catalog
  readonly store: Pick<Store, 'getDefinition'>
}

type Stored = Pick<StoredContext, 'indexKeys'>

/**
 * `record`: the stored one; its head is enough. No async function: most definitions are at hand.
 * @throws FluxError `unreadable` when the record names a state that no definition has
 */
export function pinnedFluxOf({ catalog, store }: Parts, stored: Stored, record: ContextRecord): Promise<CompiledFlux> {
  const { definition } = record
  return catalog
    .compiled(definition, () => store.getDefinition({ hash: definition }))
    .then((flux) => fitted(flux, record))
    .catch((error: unknown) => {
      if (error instanceof UnreadableDefinition) return lost(catalog, stored, record, error)
      throw error
    })
}

/** Compiled as this version of the program does, the definition is another one than the context was carried on with. */
const MISFIT = 'the context stands where its definition has no place'

/** @throws UnreadableDefinition where it has not even the states that the context was in */
function fitted(flux: CompiledFlux, { state, startState, visited, status, position }: ContextRecord): CompiledFlux {
  const { states } = flux
  if (!states[state] || !states[startState] || !visited.every((index) => states[index])) {
    throw new UnreadableDefinition(MISFIT, flux)
  }
  return isFinished(status) || hasPlace(flux, position.phase, state) ? flux : withFault(flux, state)
}

const withFault = (flux: CompiledFlux, at: number): CompiledFlux => ({
  ...flux,
  faults: [...flux.faults, MISFIT],
  states: flux.states.map((state) => (state.index === at ? { ...state, fault: MISFIT } : state)),
})

/** No definition has as many states. One that stands in has all up to the last that its context names. */
const MAX_STATES = 100_000

const isPlace = (index: number): boolean => Number.isInteger(index) && index >= 0 && index < MAX_STATES

function lost(
  catalog: Catalog,
  { indexKeys }: Stored,
  record: ContextRecord,
  { message: reason, source, isNewer }: UnreadableDefinition,
): CompiledFlux {
  const { id, package: owner, fluxName, definition: hash, state, startState, visited } = record
  if (![state, startState, ...visited].every(isPlace)) throw unreadable(id)
  const told = parseIndexKeys(indexKeys)
  const unnamed = { name: null, events: [], takesAny: false }
  const states: KnownState[] = [
    ...visited.map((index) => ({ ...unnamed, index })),
    { ...unnamed, index: startState, name: told.startState },
    {
      index: state,
      name: told.state ?? (state === startState ? told.startState : null),
      events: told.events,
      takesAny: told.takesAny,
    },
  ]
  const secured = told.isSecured || catalog.find(owner, fluxName)?.secured === true
  return lostFlux({ hash, package: owner, fluxName, secured, reason, source, isNewer, states })
}
