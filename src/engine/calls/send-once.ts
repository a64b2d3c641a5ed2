// engine/calls: sends a context a message that a call stands for; with a key, once.
import type { Address } from '../../api/address.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { Input } from '../interpreter/decision.ts'
import type { KeyedCall } from '../idempotency/idempotency.ts'
import type { RowsOf } from '../message.ts'
import { send } from './address.ts'
import type { CallEnv } from './call-env.ts'

interface SentOnce<A extends MessageAnswer> extends Pick<KeyedCall<A>, 'of' | 'content'> {
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly address: Address
  readonly input: Input
  readonly answerOf: (id: ContextId) => A
}

/** @throws FluxError when the message is refused, and as `Idempotency.once` */
export async function sendOnce<A extends MessageAnswer>(
  env: CallEnv,
  { of, key, content, address, input, answerOf }: SentOnce<A>,
): Promise<A> {
  if (key == null) return answerOf(await send(env, address, input))
  return env.idempotency.once({ scope: env.scope, of, key, content }, async ({ rowOf, first }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }, { id }) => (kind === 'refused' ? [] : [rowOf(answerOf(id), id)])
    return answerOf(await send(env, address, input, { rows, first, rowsAlways: true }))
  })
}
