// engine/calls: `getContext` shows a context as the store has it, with its moves.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextView } from '../../api/contexts.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { denial } from '../../model/caller.ts'
import type { ContextRecord } from '../../model/record.ts'
import { snapshotOf } from '../interpreter/snapshot.ts'
import { decodeHead, WHOLE } from '../record/decode.ts'
import { isUnreadable } from '../record/unreadable.ts'
import { contextView } from '../record/views.ts'
import { contextIdOf } from './address.ts'
import { readContext, viewEnvOf, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getContext(
  env: CallEnv,
  { snapshot, ...address }: CheckedCall<'getContext'>,
): Promise<ContextView> {
  return readContext(env, await contextIdOf(env, address, 'read'), WHOLE, async ({ record, flux }) => {
    const view = contextView(record, flux, await viewEnvOf(env, record))
    if (!snapshot) return view
    return { ...view, snapshot: snapshotOf(record, flux, await childNameOf(env, record, flux, view.child)) }
  })
}

/** Package and name of the service of the child that the context waits for; null: none that the caller may see. */
async function childNameOf(
  env: CallEnv,
  record: ContextRecord,
  flux: CompiledFlux,
  shown: ContextView['child'],
): Promise<string | null> {
  if (record.child === null) return null
  try {
    const stored = await env.store.load({ id: record.child })
    if (!stored) return calledBy(env, record, flux)
    // One that the view does not name is secured, or damaged.
    if (shown === null || shown.fluxName === null) return null
    const child = decodeHead(stored)
    return `${child.package}/${child.fluxName}`
  } catch (error) {
    // It has a fault of its own, which its own view tells.
    if (!isUnreadable(error, env.log)) throw error
    return null
  }
}

/** The service that the action calls, as a start of it would find it: its context is not kept any more. */
function calledBy({ catalog, caller }: CallEnv, { package: owner, state }: ContextRecord, flux: CompiledFlux) {
  const name = flux.states[state]?.action.child ?? null
  const called = name === null ? undefined : catalog.resolve(owner, name)
  if (called === undefined || called === 'ambiguous') return null
  return called.secured && denial(caller, 'read') !== null ? null : `${called.package}/${called.fluxName}`
}
