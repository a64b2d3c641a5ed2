// engine/calls: `getStateContext` shows one state of a context as the store has it, with the moves to it.
import { check } from '../../api/check.ts'
import { GET_STATE, type GetStateRequest, type StateContextView } from '../../api/get-state.ts'
import { notFound } from '../../model/failure.ts'
import { movesOf } from '../record/move-log.ts'
import { stateView } from '../record/views.ts'
import { contextIdOf } from './address.ts'
import { readContext, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getStateContext(env: CallEnv, request: GetStateRequest): Promise<StateContextView> {
  const { stateName, ...address } = check(GET_STATE, request)
  const { record, flux } = await readContext(env, await contextIdOf(env, address, 'read'))
  const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
  if (!state) throw notFound(`'${flux.fluxName}' has no state '${stateName}'`)
  return stateView(record, flux, state, await movesOf(record, env))
}
