// engine/calls: the calls that do something with one context, and answer when that is committed.
import type { AnswerKind } from '../../api/call.ts'
import { CALLS, type CheckedCall, type Told } from '../../api/calls.ts'
import { COMMANDS, type RetryAnswer } from '../../api/commands.ts'
import type { MessageAnswer } from '../../api/fields.ts'
import type { ContextId } from '../../model/context.ts'
import { malformed, notFound } from '../../model/failure.ts'
import { MESSAGES } from '../operations/commands.ts'
import { decodeHead } from '../record/decode.ts'
import { contextIdOf, send } from './address.ts'
import { admitted, type CallEnv } from './call-env.ts'
import { checkedInput, checkedTags } from './requests.ts'
import { sendOnce } from './send-once.ts'

/** A call that is told nothing but the context. */
const plain =
  (name: 'terminate' | 'pause' | 'resume', done: string) =>
  async (env: CallEnv, { idempotencyKey: key, ...address }: CheckedCall<'terminate'>): Promise<Told<MessageAnswer>> =>
    sendOnce(env, {
      of: CALLS[name],
      key,
      address,
      send: (options) => send(env, address, MESSAGES[name]({}, env), options),
      answerOf: (id) => ({ message: `${done} context ${id}` }),
    })

export const terminate = plain('terminate', 'terminated')
export const pause = plain('pause', 'paused')
export const resume = plain('resume', 'resumed')

const tagging =
  (name: 'tag' | 'untag', of: AnswerKind<MessageAnswer>, done: (names: string) => string) =>
  async (
    env: CallEnv,
    { tag, idempotencyKey: key, ...address }: CheckedCall<'addTags'>,
  ): Promise<Told<MessageAnswer>> => {
    const tags = [...checkedTags(tag, '/tag', env.tagLimits)]
    if (tags.length === 0) throw malformed('no tag is given')
    const names = tags.map((each) => `'${each}'`).join(', ')
    return sendOnce(env, {
      of,
      key,
      address,
      asked: { tags },
      send: (options) => send(env, address, MESSAGES[name]({ tags }, env), options),
      answerOf: (id) => ({ message: `${done(names)} context ${id}` }),
    })
  }

export const addTags = tagging('tag', CALLS.addTags, (names) => `added ${names} to`)
export const removeTags = tagging('untag', CALLS.removeTags, (names) => `removed ${names} from`)

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
