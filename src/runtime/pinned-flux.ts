// runtime: the definition that a stored context was started with; where nothing of it is left, what the context itself tells.
import type { Catalog } from '../definitions/catalog.ts'
import { UnreadableDefinition } from '../definitions/definition-error.ts'
import type { CompiledFlux } from '../definitions/flux.ts'
import { lostFlux, type KnownState } from '../definitions/lost.ts'
import type { ContextRecord } from '../model/record.ts'
import type { Store, StoredContext } from '../ports/store.ts'
import { toldBy } from './terms.ts'

interface Parts {
  readonly catalog: Catalog
  readonly store: Store
}

type Stored = Pick<StoredContext, 'terms'>

/** `record`: the stored one; its head is enough. No async function: most definitions are at hand. */
export function fluxOf({ catalog, store }: Parts, stored: Stored, record: ContextRecord): Promise<CompiledFlux> {
  const { definition } = record
  return catalog.compiled(definition, () => store.getDefinition({ hash: definition })).catch((error: unknown) => {
    if (error instanceof UnreadableDefinition) return lost(catalog, stored, record, error)
    throw error
  })
}

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
