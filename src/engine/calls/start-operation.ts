// engine/calls: `startOperation` does something with all contexts that match, and answers when that is stored.
import { check } from '../../api/check.ts'
import { readDeed, type OperationDeed } from '../../api/operation-deeds.ts'
import { readFilter } from '../../api/operation-filter.ts'
import { DEFAULT_RATE, START_OPERATION, type OperationRequest, type OperationStart } from '../../api/start-operation.ts'
import { invalid } from '../../model/failure.ts'
import type { Status } from '../../model/context.ts'
import { admitted, type CallEnv } from './call-env.ts'
import { checkedInput, checkedTags } from './requests.ts'
import { statusesOf } from './selection.ts'

/** See `FluxApi`. */
export async function startOperation(env: CallEnv, request: OperationRequest): Promise<OperationStart> {
  const { filter: shown, do: name, with: given, contextIds, ...rest } = check(START_OPERATION, request)
  const filter = readFilter(shown)
  const tags = checkedTags(filter.tag, '/filter/tag', env.tagLimits)
  const deed = checkedDeed(readDeed(name, given), env)
  if (deed.do === 'retry' && !statusesOf(filter).some(isRetried))
    throw refusedFilter('must name FAILED or TERMINATED: those that have not ended can not be retried')
  const { name: who, roles } = env.caller
  const wish = {
    deed,
    shown,
    filter: { ...filter, tag: tags },
    untyped: rest.untyped ?? false,
    contextIds: contextIds ? [...new Set(contextIds)].sort((one, other) => one - other) : null,
    rate: rest.rate ?? DEFAULT_RATE,
    caller: { ...(who !== undefined && { name: who }), roles },
    scope: env.scope,
    traceparent: env.traceparent,
  }
  if (rest.dryRun === true) return { matched: await env.operations.count(wish) }
  const input = deed.do === 'event' || deed.do === 'retry' ? (deed.with.input ?? {}) : {}
  const { operationId, matched } = await admitted(env, input, () => env.operations.begin(wish))
  return { operationId, matched }
}

const isRetried = (status: Status): boolean => status === 'FAILED' || status === 'TERMINATED'

const refusedFilter = (detail: string) => invalid(`status ${detail}`, [{ pointer: '/filter/status', detail }])

/** With copies of what its caller could change afterwards. */
function checkedDeed(deed: OperationDeed, { tagLimits }: CallEnv): OperationDeed {
  switch (deed.do) {
    case 'event':
      return { ...deed, with: { ...deed.with, input: checkedInput(deed.with.input, '/with/input').input } }
    case 'tag':
    case 'untag':
      return { ...deed, with: { tags: [...checkedTags(deed.with.tags, '/with/tags', tagLimits)] } }
    case 'retry':
      return deed.with.input
        ? { ...deed, with: { ...deed.with, input: checkedInput(deed.with.input, '/with/input').input } }
        : deed
    default:
      return deed
  }
}
