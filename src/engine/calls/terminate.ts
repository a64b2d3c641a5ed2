// engine/calls: `terminate` ends a context, and answers once the end is committed.
import { check } from '../../api/check.ts'
import { TERMINATE, type ContextRequest, type MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { CallEnv } from './call-env.ts'
import { sendOnce } from './send-once.ts'

/** See `FluxApi`. */
export async function terminate(env: CallEnv, request: ContextRequest): Promise<MessageAnswer> {
  const { idempotencyKey: key, ...address } = check(TERMINATE, request)
  const input = { type: 'TERMINATE', caller: env.caller } as const
  return sendOnce(env, { of: TERMINATE, key, content: address, address, input, answerOf })
}

const answerOf = (contextId: ContextId) => ({ message: `terminated context ${contextId}` })
