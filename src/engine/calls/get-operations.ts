// engine/calls: `getOperation` shows how far an operation is, and `listOperations` the newest ones.
import { check } from '../../api/check.ts'
import { GET_OPERATIONS, type OperationView } from '../../api/get-operations.ts'
import { denial } from '../../model/caller.ts'
import { notFound } from '../../model/failure.ts'
import { operationViewOf, type OperationProgress } from '../operations/operation-rows.ts'
import type { CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getOperation(env: CallEnv, request: { readonly operationId: string }): Promise<OperationView> {
  const { operationId = '' } = check(GET_OPERATIONS, request)
  return operationViewOf(await visibleOperation(env, operationId))
}

/** See `FluxApi`. */
export async function listOperations(env: CallEnv): Promise<OperationView[]> {
  return (await env.operations.list()).filter((one) => isVisible(env, one)).map(operationViewOf)
}

/** @throws FluxError `notFound` when there is none, or the caller must not see it */
export async function visibleOperation(env: CallEnv, operationId: string): Promise<OperationProgress> {
  const progress = await env.operations.get(operationId)
  if (!isVisible(env, progress)) throw notFound(`there is no operation '${operationId}'`)
  return progress
}

/** Who may see secured contexts sees all; others see what was asked for without a token, as they do it themselves. */
const isVisible = ({ caller, scope }: CallEnv, progress: OperationProgress): boolean =>
  progress.scope === scope || denial(caller, 'read') === null
