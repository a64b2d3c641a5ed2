// engine/calls: `getContext` shows a context as the store has it, with its moves.
import { check } from '../../api/check.ts'
import { GET_CONTEXT, type ContextView, type GetContextRequest } from '../../api/get-context.ts'
import { snapshotOf } from '../interpreter/snapshot.ts'
import { contextView } from '../record/views.ts'
import { contextIdOf } from './address.ts'
import { readContext, viewEnvOf, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getContext(env: CallEnv, request: GetContextRequest): Promise<ContextView> {
  const { snapshot, ...address } = check(GET_CONTEXT, request)
  const { record, flux } = await readContext(env, await contextIdOf(env, address, 'read'))
  const view = contextView(record, flux, await viewEnvOf(env, record))
  return snapshot ? { ...view, snapshot: snapshotOf(record, flux) } : view
}
