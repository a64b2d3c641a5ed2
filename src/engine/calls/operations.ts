// engine/calls: `getOperation` shows how far an operation is, `listOperations` the newest ones, and `stopOperation` stops one.
import type { CheckedCall } from '../../api/calls.ts'
import { COMMANDS } from '../../api/commands.ts'
import type { OperationView } from '../../api/operations.ts'
import { denial } from '../../model/caller.ts'
import { FluxError, notFound } from '../../model/failure.ts'
import { operationViewOf, type OperationProgress } from '../operations/operation-rows.ts'
import type { CallEnv } from './call-env.ts'

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

/** See `FluxApi`. That of others may be stopped by who may do the same. */
export async function stopOperation(
  env: CallEnv,
  { operationId }: CheckedCall<'stopOperation'>,
): Promise<OperationView> {
  const { do: name, scope } = await visibleOperation(env, operationId)
  const failure = scope === env.scope ? null : denial(env.caller, COMMANDS[name].role)
  if (failure) throw new FluxError(failure)
  return operationViewOf(await env.operations.stop(operationId))
}

/** @throws FluxError `notFound` when there is none, or the caller must not see it */
async function visibleOperation(env: CallEnv, operationId: string): Promise<OperationProgress> {
  const progress = await env.operations.get(operationId)
  if (!isVisible(env, progress)) throw notFound(`there is no operation '${operationId}'`)
  return progress
}

/** Who may see secured contexts sees all; others see what was asked for without a token, as they do it themselves. */
const isVisible = ({ caller, scope }: CallEnv, progress: OperationProgress): boolean =>
  progress.scope === scope || denial(caller, 'read') === null
