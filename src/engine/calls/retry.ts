// engine/calls: `retry` goes on with a context that failed or was terminated, and answers once that is committed.
import { RETRY, type RetryAnswer, type RetryRequest } from '../../api/retry.ts'
import type { ContextId } from '../../model/context.ts'
import { notFound } from '../../model/failure.ts'
import { decodeHead } from '../record/decode.ts'
import { contextIdOf } from './address.ts'
import { admitted, type CallEnv } from './call-env.ts'
import { retryRequest } from './requests.ts'
import { sendOnce } from './send-once.ts'

/** See `FluxApi`. */
export async function retryContext(env: CallEnv, request: RetryRequest): Promise<RetryAnswer> {
  const { address, idempotencyKey: key, untyped, asked } = retryRequest(request)
  const content = { ...address, ...asked }
  return admitted(env, asked.input ?? {}, async () => {
    const id = await contextIdOf(env, address, 'admin')
    const input = { type: 'RETRY', ...asked, untyped, seen: await seen(env, id), caller: env.caller } as const
    return sendOnce(env, { of: RETRY, key, content, address: { contextId: id }, input, answerOf })
  })
}

/** Of several that see the same position, one retries the context. */
async function seen({ store }: CallEnv, id: ContextId) {
  const stored = await store.load({ id })
  if (!stored) throw notFound(`there is no context ${id}`)
  const { epoch, attempt } = decodeHead(stored).position
  return { epoch, attempt }
}

const answerOf = (contextId: ContextId) => ({ message: `retried context ${contextId}`, contextId })
