// engine/calls: `addTags` and `removeTags` change the tags of a context, and answer once the change is committed.
import { ADD_TAGS, REMOVE_TAGS, type TagRequest } from '../../api/tags.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { CallEnv } from './call-env.ts'
import { tagRequest } from './requests.ts'
import { sendOnce } from './send-once.ts'

/** See `FluxApi`. */
export async function changeTags(env: CallEnv, request: TagRequest, change: 'add' | 'remove'): Promise<MessageAnswer> {
  const { address, tags, idempotencyKey: key } = tagRequest(request, env.tagLimits)
  const input = { type: 'TAG', add: [], remove: [], [change]: tags, caller: env.caller } as const
  const names = tags.map((name) => `'${name}'`).join(', ')
  const [done, of] = change === 'add' ? [`added ${names} to`, ADD_TAGS] : [`removed ${names} from`, REMOVE_TAGS]
  const answerOf = (contextId: ContextId) => ({ message: `${done} context ${contextId}` })
  return sendOnce(env, { of, key, content: { ...address, tags }, address, input, answerOf })
}
