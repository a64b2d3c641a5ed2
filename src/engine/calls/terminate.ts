// engine/calls: `terminate` ends a context, and answers once the end is committed.
import { check } from '../../api/check.ts'
import { TERMINATE, type ContextRequest, type MessageAnswer } from '../../api/terminate.ts'
import { send } from './address.ts'
import type { CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function terminate(env: CallEnv, request: ContextRequest): Promise<MessageAnswer> {
  const contextId = await send(env, check(TERMINATE, request), { type: 'TERMINATE', caller: env.caller })
  return { message: `terminated context ${contextId}` }
}
