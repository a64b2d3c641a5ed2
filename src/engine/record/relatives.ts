// engine/record: the parent and the child of a context, as views of it show them.
import type { RelativeView } from '../../api/contexts.ts'
import type { Catalog } from '../../definitions/catalog.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId, ContextRecord } from '../../model/context.ts'
import type { Log } from '../../ports/log.ts'
import type { Store } from '../../ports/store.ts'
import { decodeHead } from './decode.ts'
import { pinnedFluxOf } from './pinned-flux.ts'
import { isUnreadable } from './unreadable.ts'

export interface Relatives {
  readonly parent: RelativeView | null
  readonly child: RelativeView | null
}

export interface RelativesEnv {
  readonly store: Store
  readonly catalog: Catalog
  readonly log: Log
  /** Whether those who see the context may see one of that service. */
  readonly isVisible: (flux: CompiledFlux) => boolean
}

export const relativesOf = async ({ parent, child }: ContextRecord, env: RelativesEnv): Promise<Relatives> => ({
  parent: parent === null ? null : await relativeOf(parent.id, env),
  child: child === null ? null : await relativeOf(child, env),
})

/** Only its id is shown of one that can't be read. */
export async function relativeOf(contextId: ContextId, env: RelativesEnv): Promise<RelativeView> {
  const found = await readRelative(contextId, env)
  if (!found) return { contextId, fluxName: null, state: null }
  const { record, flux } = found
  return { contextId, fluxName: record.fluxName, state: flux.states[record.state]?.name ?? '' }
}

/** Null: it is not visible, not kept any more, or damaged. */
export async function readRelative(contextId: ContextId, { isVisible, ...parts }: RelativesEnv) {
  try {
    const stored = await parts.store.load({ id: contextId })
    if (!stored) return null
    const record = decodeHead(stored)
    const flux = await pinnedFluxOf(parts, stored, record)
    return isVisible(flux) ? { record, flux } : null
  } catch (error) {
    // It has a fault of its own, which its own view shows.
    if (!isUnreadable(error, parts.log)) throw error
    return null
  }
}
