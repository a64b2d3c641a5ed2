// engine/calls: `startOperation` does something with all contexts that match, and answers when that is stored.
import type { CheckedCall } from '../../api/calls.ts'
import { readCommand, type Command } from '../../api/commands.ts'
import { DEFAULT_RATE, MIN_RATE, type OperationStart, readFilter } from '../../api/operations.ts'
import { invalid } from '../../model/failure.ts'
import type { Status } from '../../model/context.ts'
import { admitted, type CallEnv } from './call-env.ts'
import { checkedInput, checkedTags } from './requests.ts'
import { statusesOf } from '../operations/selection.ts'

/** See `FluxApi`. */
export async function startOperation(
  env: CallEnv,
  { filter: shown, do: name, with: given, contextIds, ...rest }: CheckedCall<'startOperation'>,
): Promise<OperationStart> {
  const filter = readFilter(shown)
  const tags = checkedTags(filter.tag, '/filter/tag', env.tagLimits)
  const command = checkedCommand(readCommand(name, given), env)
  if (command.do === 'retry' && !statusesOf(filter).some(isRetried))
    throw refused('filter/status', 'must name FAILED or TERMINATED: those that have not ended can not be retried')
  const rate = rest.rate ?? DEFAULT_RATE
  if (rate < MIN_RATE) throw refused('rate', `must be at least ${MIN_RATE}`)
  const { name: who, roles } = env.caller
  const wish = {
    command,
    shown,
    filter: { ...filter, tag: tags },
    untyped: rest.untyped ?? false,
    contextIds: contextIds ? [...new Set(contextIds)].sort((one, other) => one - other) : null,
    rate,
    caller: { ...(who !== undefined && { name: who }), roles },
    scope: env.scope,
    traceparent: env.traceparent,
  }
  if (rest.dryRun === true) return { matched: await env.operations.count(wish) }
  const input = command.do === 'event' || command.do === 'retry' ? (command.with.input ?? {}) : {}
  const { operationId, matched } = await admitted(env, input, () => env.operations.begin(wish))
  return { operationId, matched }
}

const isRetried = (status: Status): boolean => status === 'FAILED' || status === 'TERMINATED'

const refused = (field: string, detail: string) =>
  invalid(`${field.split('/').at(-1)} ${detail}`, [{ pointer: `/${field}`, detail }])

/** With copies of what its caller could change afterwards. */
function checkedCommand(command: Command, { tagLimits }: CallEnv): Command {
  switch (command.do) {
    case 'event':
      return { ...command, with: { ...command.with, input: checkedInput(command.with.input, '/with/input').input } }
    case 'tag':
    case 'untag':
      return { ...command, with: { tags: [...checkedTags(command.with.tags, '/with/tags', tagLimits)] } }
    case 'retry':
      return command.with.input
        ? { ...command, with: { ...command.with, input: checkedInput(command.with.input, '/with/input').input } }
        : command
    default:
      return command
  }
}
