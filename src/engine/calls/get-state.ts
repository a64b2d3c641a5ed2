// engine/calls: `getStateContext` shows one state of a context as the store has it, with the moves to it.
import type { CheckedCall } from '../../api/calls.ts'
import type { StateContextView } from '../../api/contexts.ts'
import { notFound } from '../../model/failure.ts'
import { suggestion } from '../../model/nearest.ts'
import { extentOfState } from '../record/decode.ts'
import { movesOf } from '../record/move-log.ts'
import { stateView } from '../record/views.ts'
import { contextIdOf } from './address.ts'
import { readContext, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getStateContext(
  env: CallEnv,
  { stateName, ...address }: CheckedCall<'getStateContext'>,
): Promise<StateContextView> {
  const id = await contextIdOf(env, address, 'read')
  return readContext(env, id, extentOfState(stateName), async ({ record, flux }) => {
    const state = flux.states[flux.stateIndex.get(stateName) ?? -1]
    if (!state)
      throw notFound(`'${flux.fluxName}' has no state '${stateName}'${suggestion(stateName, flux.stateIndex.keys())}`)
    return stateView(record, flux, state, await movesOf(record, env))
  })
}
