// engine/calls: sends a context a message that a call stands for; with a key, once.
import type { Told } from '../../api/calls.ts'
import type { Address } from '../../api/address.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import type { ContextId } from '../../model/context.ts'
import type { KeyedCall } from '../idempotency/idempotency.ts'
import type { MessageOptions, RowsOf } from '../turn/message.ts'
import { addresseeOf } from './address.ts'
import type { CallEnv } from './call-env.ts'

interface SentOnce<A extends MessageAnswer> extends Pick<KeyedCall<A>, 'of'> {
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly address: Address
  /** What is asked of the context that the address names; left out: there is nothing more to say. */
  readonly asked?: object
  /** All that may be refused of the context belongs here: a repeat is answered though the context is gone. */
  readonly send: (options?: Pick<MessageOptions, 'rows' | 'rowsAlways' | 'first'>) => Promise<ContextId>
  readonly answerOf: (id: ContextId) => A
}

/** @throws FluxError when the message is refused, and as `Idempotency.once` */
export async function sendOnce<A extends MessageAnswer>(
  env: CallEnv,
  { of, key, address, asked, send, answerOf }: SentOnce<A>,
): Promise<Told<A>> {
  if (key == null) return { answer: answerOf(await send()) }
  const [addressee, content] = [addresseeOf(env, address, 'invoke'), { ...address, ...asked }]
  return env.idempotency.once({ scope: env.scope, of, key, addressee, content }, async ({ rowOf, first }) => {
    // A call that finds that nothing is to be done is answered 2xx, too, and remembered.
    const rows: RowsOf = ({ kind }, { id }) => (kind === 'refused' ? [] : [rowOf(answerOf(id))])
    return answerOf(await send({ rows, first, rowsAlways: true }))
  })
}
