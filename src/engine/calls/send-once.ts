// engine/calls: sends a context a message that a call stands for; with a key, once.
import type { Address } from '../../api/address.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { Input } from '../interpreter/decision.ts'
import type { KeyedCall } from '../idempotency/idempotency.ts'
import type { RowsOf } from '../message.ts'
import { partitionOfEffect, send } from './address.ts'
import type { CallEnv } from './call-env.ts'

interface SentOnce extends Pick<KeyedCall<MessageAnswer>, 'of' | 'content'> {
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly address: Address
  readonly input: Input
  readonly answerOf: (id: ContextId) => MessageAnswer
}

/** @throws FluxError when the message is refused, and as `Idempotency.once` */
export async function sendOnce(
  env: CallEnv,
  { of, key, content, address, input, answerOf }: SentOnce,
): Promise<MessageAnswer> {
  if (key == null) return answerOf(await send(env, address, input))
  const call = { scope: env.scope, of, key, content, partition: partitionOfEffect(env, address) }
  return env.idempotency.once(call, async ({ rowOf }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }, { id }) => (kind === 'refused' ? [] : [rowOf(answerOf(id), id)])
    return answerOf(await send(env, address, input, { rows, rowsAlways: true }))
  })
}
