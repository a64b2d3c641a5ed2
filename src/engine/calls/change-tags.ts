// engine/calls: `addTags` and `removeTags` change the tags of a context, and answer once the change is committed.
import type { TagRequest } from '../../api/tags.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import { send } from './address.ts'
import type { CallEnv } from './call-env.ts'
import { tagRequest } from './requests.ts'

/** See `FluxApi`. */
export async function changeTags(env: CallEnv, request: TagRequest, change: 'add' | 'remove'): Promise<MessageAnswer> {
  const { address, tags } = tagRequest(request, env.tagLimits)
  const contextId = await send(env, address, { type: 'TAG', add: [], remove: [], [change]: tags, caller: env.caller })
  const names = tags.map((name) => `'${name}'`).join(', ')
  return {
    message: change === 'add' ? `added ${names} to context ${contextId}` : `removed ${names} from context ${contextId}`,
  }
}
