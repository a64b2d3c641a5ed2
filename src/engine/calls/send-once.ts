// engine/calls: sends a context a message that a call stands for; with a key, once.
import type { MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { Input } from '../interpreter/decision.ts'
import type { KeyedCall } from '../idempotency/idempotency.ts'
import type { RowsOf } from '../message.ts'
import { send, type CallEnv } from './call-env.ts'

interface SentOnce extends Pick<KeyedCall<MessageAnswer>, 'of' | 'content'> {
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly contextId: ContextId
  readonly input: Input
  readonly answer: MessageAnswer
}

/** @throws FluxError when the message is refused, and as `Idempotency.once` */
export async function sendOnce(
  env: CallEnv,
  { of, key, content, contextId, input, answer }: SentOnce,
): Promise<MessageAnswer> {
  if (key == null) {
    await send(env, contextId, input)
    return answer
  }
  const partition = contextId % env.store.partitions
  return env.idempotency.once({ scope: env.scope, of, key, content, partition }, async ({ rowOf }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }) => (kind === 'refused' ? [] : [rowOf(answer)])
    await send(env, contextId, input, { rows, rowsAlways: true })
    return answer
  })
}
