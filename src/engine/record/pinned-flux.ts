// engine/record: the definition that a stored context was started with. If it cannot be read, a replacement is made
// from the record and its index keys.
import type { Catalog } from '../../definitions/catalog.ts'
import { brokenState } from '../../definitions/compile/states.ts'
import { UnreadableDefinition } from '../../definitions/definition-error.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { lostFlux, type KnownState } from '../../definitions/compile/lost.ts'
import { type ContextRecord, isFinished } from '../../model/context.ts'
import { FluxError, unreadable } from '../../model/failure.ts'
import { partitionOf } from '../../model/rows.ts'
import type { Store, StoredContext } from '../../ports/store.ts'
import { hasPhase } from '../interpreter/nodes.ts'
import { parseIndexKeys } from './index-keys.ts'

/** Where a definition is stored. `hash`: that of its content. */
export const definitionRow = ({ partitions }: Pick<Store, 'partitions'>, hash: string) =>
  ({ partition: partitionOf(hash, partitions), space: 'definitions', key: hash }) as const

/** The fault of a definition that does not have the phase or state in which the context was left. */
const MISFIT = 'the context stands where its definition has no place'

/**
 * The definition of a stored context. `record`: its decoded record; the head is enough.
 * @throws FluxError `unreadable` when the record has an invalid state index
 */
export async function pinnedFluxOf(
  { catalog, store }: { readonly catalog: Catalog; readonly store: Pick<Store, 'partitions' | 'readRow'> },
  { indexKeys }: Pick<StoredContext, 'indexKeys'>,
  record: ContextRecord,
): Promise<CompiledFlux> {
  const { definition: hash } = record
  try {
    return fitted(await catalog.compiled(hash, () => textOf(store, hash)), record)
  } catch (error) {
    if (error instanceof UnreadableDefinition) return lost(catalog, indexKeys, record, error)
    throw error
  }
}

/** Null: it is not stored, or damaged. @throws FluxError `unavailable` */
async function textOf(store: Pick<Store, 'partitions' | 'readRow'>, hash: string): Promise<string | null> {
  try {
    return (await store.readRow(definitionRow(store, hash)))?.value ?? null
  } catch (error) {
    if (error instanceof FluxError) throw error
    return null
  }
}

/**
 * Adds a fault to the current state if it lacks the context's phase. @throws UnreadableDefinition if the definition
 * lacks a state of the context
 */
function fitted(flux: CompiledFlux, { state: at, startState, visited, status, position }: ContextRecord) {
  const { states, faults } = flux
  if (![at, startState, ...visited].every((index) => states[index]))
    throw new UnreadableDefinition(MISFIT, { source: flux.source })
  if (isFinished(status) || hasPhase(flux, position.phase, at)) return flux
  const broken = states.map((state) => (state.index === at ? brokenState(state, MISFIT) : state))
  return { ...flux, faults: [...faults, MISFIT], states: broken }
}

/**
 * Upper limit of state indices. A replacement definition has all states up to the highest index that the record
 * contains.
 */
const MAX_STATES = 100_000

const isStateIndex = (index: number) => Number.isInteger(index) && index >= 0 && index < MAX_STATES

function lost(
  catalog: Catalog,
  indexKeys: readonly string[],
  record: ContextRecord,
  { message: reason, source, isForeign }: UnreadableDefinition,
) {
  const { id, package: owner, fluxName, definition: hash, state, startState, visited } = record
  if (![state, startState, ...visited].every(isStateIndex)) throw unreadable(id)
  const facts = parseIndexKeys(indexKeys)
  const states: KnownState[] = [
    ...visited.map((index) => ({ index })),
    { index: startState, name: facts.startState },
    {
      index: state,
      name: facts.state ?? (state === startState ? facts.startState : null),
      events: facts.events,
      takesAny: facts.takesAny,
    },
  ]
  const secured = facts.isSecured || catalog.find(owner, fluxName)?.secured === true
  return lostFlux({ hash, package: owner, fluxName, secured, reason, source, isForeign, states })
}
