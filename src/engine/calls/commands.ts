// engine/calls: the calls that do something with one context, and answer when that is committed.
import type { Address } from '../../api/address.ts'
import type { AnswerKind } from '../../api/call.ts'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { COMMANDS, type RetryAnswer } from '../../api/commands.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError, malformed, notFound } from '../../model/failure.ts'
import type { Input } from '../interpreter/decision.ts'
import { MESSAGES } from '../operations/commands.ts'
import { decodeHead } from '../record/decode.ts'
import type { MessageOptions, RowsOf } from '../turn/message.ts'
import { addresseeOf, contextIdOf, sendTo } from './address.ts'
import { admitted, type CallEnv } from './call-env.ts'
import { checkedInput, checkedTags } from './requests.ts'

type SentOptions = Pick<MessageOptions, 'rows' | 'rowsAlways' | 'first'>

/** Sends a message to the context that is named, and gives its id. @throws FluxError when it is refused, or there is none */
async function send(env: CallEnv, address: Address, input: Input, options?: SentOptions): Promise<ContextId> {
  const post = (id: ContextId) => env.mailboxes.post(id, input, { ...options, isCall: !env.isStep })
  const { record, failure } = await sendTo(env, address, post)
  if (failure) throw new FluxError(failure)
  return record.id
}

interface SentOnce<A extends MessageAnswer> {
  readonly of: AnswerKind<A>
  /** Left out, or null: the message is sent each time. */
  readonly key: string | null | undefined
  readonly address: Address
  /** What is asked of the context that the address names; left out: there is nothing more to say. */
  readonly asked?: object | undefined
  /** All that may be refused of the context belongs here: a repeat is answered though the context is gone. */
  readonly send: (options?: SentOptions) => Promise<ContextId>
  readonly answerOf: (id: ContextId) => A
}

/** Sends the message of a command; with a key, once. @throws FluxError when the message is refused, and as `Idempotency.once` */
async function sendOnce<A extends MessageAnswer>(
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

/** A call that is told the context, and perhaps tags. `done`: what it did, with these in quotes. */
const giving =
  (
    name: 'terminate' | 'pause' | 'resume' | 'tag' | 'untag',
    of: AnswerKind<MessageAnswer>,
    done: (tags: string) => string,
  ) =>
  async (
    env: CallEnv,
    { tag, idempotencyKey: key, ...address }: CheckedCall<'terminate'> & { readonly tag?: readonly string[] },
  ): Promise<Told<MessageAnswer>> => {
    const tags = [...checkedTags(tag, '/tag', env.tagLimits)]
    if (tag && tags.length === 0) throw malformed('no tag is given')
    const names = tags.map((each) => `'${each}'`).join(', ')
    return sendOnce(env, {
      of,
      key,
      address,
      asked: tag && { tags },
      send: (options) => send(env, address, MESSAGES[name]({ tags }, env), options),
      answerOf: (id) => ({ message: `${done(names)} context ${id}` }),
    })
  }

export const terminate = giving('terminate', CALLS.terminate, () => 'terminated')
export const pause = giving('pause', CALLS.pause, () => 'paused')
export const resume = giving('resume', CALLS.resume, () => 'resumed')
export const addTags = giving('tag', CALLS.addTags, (names) => `added ${names} to`)
export const removeTags = giving('untag', CALLS.removeTags, (names) => `removed ${names} from`)

export async function retry(
  env: CallEnv,
  { state, input: given, definition, newKey, idempotencyKey: key, untyped = false, ...address }: CheckedCall<'retry'>,
): Promise<Told<RetryAnswer>> {
  const input = given == null ? null : checkedInput(given).input
  const asked = { state: state ?? null, input, definition: definition ?? null, newKey: newKey ?? false }
  return admitted(env, input ?? {}, () =>
    sendOnce(env, {
      of: CALLS.retry,
      key,
      address,
      asked,
      async send(options) {
        const contextId = await contextIdOf(env, address, COMMANDS.retry.role)
        const seen = await positionOf(env, contextId)
        return send(env, { contextId }, MESSAGES.retry(asked, { caller: env.caller, untyped, seen }), options)
      },
      answerOf: (contextId) => ({ message: `retried context ${contextId}`, contextId }),
    }),
  )
}

/** Of several that see the same position, one retries the context. */
async function positionOf({ store }: CallEnv, id: ContextId) {
  const stored = await store.load({ id })
  if (!stored) throw notFound(`there is no context ${id}`)
  const { epoch, attempt } = decodeHead(stored).position
  return { epoch, attempt }
}
