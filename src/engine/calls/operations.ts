// engine/calls: the calls that start an operation with all contexts that match, show how far it is, and stop it.
import type { CheckedCall } from '../../api/calls.ts'
import { COMMANDS, readCommand } from '../../api/commands.ts'
import { DEFAULT_RATE, MIN_RATE, readFilter, type OperationStart, type OperationView } from '../../api/operations.ts'
import { MAX_SAMPLED } from '../../api/rehearsal.ts'
import { denial } from '../../model/caller.ts'
import { notFound } from '../../model/failure.ts'
import { operationViewOf, type OperationProgress } from '../operations/operation-run.ts'
import { statusesOf } from '../operations/selection.ts'
import { admitted, checkedInput, checkedTags, requireRole, type CallEnv } from './call-env.ts'
import { refuseInput } from '../interpreter/describe.ts'

/** See `FluxApi`. Answers when the operation is stored. */
export async function startOperation(
  env: CallEnv,
  { filter: shown, do: name, with: given, contextIds, ...rest }: CheckedCall<'startOperation'>,
): Promise<OperationStart> {
  const filter = readFilter(shown)
  const tag = checkedTags(env, filter.tag, '/filter/tag')
  // Copied, so that its caller can't change it afterwards.
  const { input: told } = checkedInput(given, '/with')
  const command = readCommand(name, told)
  if (command.do === 'tag' || command.do === 'untag') checkedTags(env, command.with.tags, '/with/tags')
  if (command.do === 'retry' && !statusesOf(filter).some((status) => status === 'FAILED' || status === 'TERMINATED'))
    refuseInput('/filter/status', 'must name FAILED or TERMINATED: those that have not ended can not be retried')
  const rate = rest.rate ?? DEFAULT_RATE
  if (rate < MIN_RATE) refuseInput('/rate', `must be at least ${MIN_RATE}`)
  const { name: who, roles } = env.caller
  const wish = {
    command,
    shown,
    filter: { ...filter, tag },
    untyped: rest.untyped ?? false,
    contextIds: contextIds ? [...new Set(contextIds)].sort((one, other) => one - other) : null,
    rate,
    caller: { ...(who !== undefined && { name: who }), roles },
    scope: env.scope,
    traceparent: env.traceparent,
  }
  if (rest.dryRun === true) {
    const { matched, changed, failed } = await env.operations.rehearse(wish, env.mailboxes)
    const counts = { matched, wouldMove: changed, wouldStart: 0, wouldIgnore: failed }
    return { ...counts, ...(matched > MAX_SAMPLED && { sampled: true }) }
  }
  const { operationId, matched } = await admitted(env, told, () => env.operations.begin(wish))
  return { operationId, matched }
}

/** See `FluxApi`. */
export async function getOperation(
  env: CallEnv,
  { operationId = '' }: CheckedCall<'getOperation'>,
): Promise<OperationView> {
  return operationViewOf(await visibleOperation(env, operationId))
}

/** See `FluxApi`. */
export async function listOperations(env: CallEnv): Promise<OperationView[]> {
  return (await env.operations.list()).filter((one) => isVisible(env, one)).map(operationViewOf)
}

/** See `FluxApi`. To stop the operation of another caller, a caller needs the role that starting it requires. */
export async function stopOperation(
  env: CallEnv,
  { operationId }: CheckedCall<'stopOperation'>,
): Promise<OperationView> {
  const { do: name, scope } = await visibleOperation(env, operationId)
  requireRole(env, { secured: scope !== env.scope }, COMMANDS[name].role)
  return operationViewOf(await env.operations.stop(operationId))
}

/** @throws FluxError `notFound` when there is none, or the caller must not see it */
async function visibleOperation(env: CallEnv, operationId: string) {
  const progress = await env.operations.get(operationId)
  if (!isVisible(env, progress)) throw notFound(`there is no operation '${operationId}'`)
  return progress
}

/** A caller that may see secured contexts sees all operations; others see those that were started without a token. */
const isVisible = ({ caller, scope }: CallEnv, progress: OperationProgress) =>
  progress.scope === scope || denial(caller, 'read') === null
