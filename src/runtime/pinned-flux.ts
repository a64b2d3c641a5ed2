// runtime: the definition that a stored context was started with; where nothing of it is left, what the context itself tells.
import type { Catalog } from '../definitions/catalog.ts'
import { UnreadableDefinition } from '../definitions/definition-error.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { lostFlux, type KnownState } from '../definitions/lost.ts'
import { isFinished } from '../model/context.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Store, StoredContext } from '../ports/store.ts'
import { hasPlace } from './interpreter/places.ts'
import { toldBy } from './terms.ts'

interface Parts {
  readonly catalog: Catalog
  readonly store: Pick<Store, 'getDefinition'>
}

type Stored = Pick<StoredContext, 'terms'>

/** `record`: the stored one; its head is enough. No async function: most definitions are at hand. */
export function fluxOf({ catalog, store }: Parts, stored: Stored, record: ContextRecord): Promise<CompiledFlux> {
  const { definition } = record
  const compiled = catalog.compiled(definition, () => store.getDefinition({ hash: definition }))
  return compiled.then((flux) => fitted(flux) ?? lost(catalog, stored, record, new UnreadableDefinition(MISFIT, flux.source)), (error: unknown) => {
    if (error instanceof UnreadableDefinition) return lost(catalog, stored, record, error)
    throw error
  })

  /** null: states are missing that the context was in. */
  function fitted(flux: CompiledFlux): CompiledFlux | null {
    const { states } = flux
    const { state, startState, visited, status, position: { phase } } = record
    if (!states[state] || !states[startState] || !visited.every((index) => states[index])) return null
    return isFinished(status) || hasPlace(flux, phase, state) ? flux : withFault(flux, state)
  }
}

/** Compiled as this version of the program does, the definition is another one than the context was carried on with. */
const MISFIT = 'the context stands where its definition has no place'

const withFault = (flux: CompiledFlux, at: number): CompiledFlux => ({
  ...flux,
  faults: [...flux.faults, MISFIT],
  states: flux.states.map((state) => (state.index === at ? { ...state, fault: MISFIT } : state)),
})

function lost(catalog: Catalog, { terms }: Stored, record: ContextRecord, { message: reason, source }: UnreadableDefinition): CompiledFlux {
  const { package: owner, fluxName, definition: hash, state, startState, visited } = record
  const told = toldBy(terms)
  const unnamed = { name: null, events: [], takesAny: false }
  const states: KnownState[] = [
    ...visited.map((index) => ({ ...unnamed, index })),
    { ...unnamed, index: startState, name: told.startState },
    { index: state, name: told.state ?? (state === startState ? told.startState : null), events: told.events, takesAny: told.takesAny },
  ]
  const secured = told.isSecured || catalog.find(owner, fluxName)?.secured === true
  return lostFlux({ hash, package: owner, fluxName, secured, reason, source, states })
}
