// engine/calls: `terminate` ends a context, and answers once the end is committed.
import { check } from '../../api/check.ts'
import { TERMINATE, type ContextRequest, type MessageAnswer } from '../../api/terminate.ts'
import type { CallEnv } from './call-env.ts'
import { sendOnce } from './send-once.ts'

/** See `FluxApi`. */
export async function terminate(env: CallEnv, request: ContextRequest): Promise<MessageAnswer> {
  const { contextId, idempotencyKey: key } = check(TERMINATE, request)
  const answer = { message: `terminated context ${contextId}` }
  const input = { type: 'TERMINATE', caller: env.caller } as const
  return sendOnce(env, { of: TERMINATE, key, content: { contextId }, contextId, input, answer })
}
