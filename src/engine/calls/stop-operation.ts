// engine/calls: `stopOperation` stops an operation, and answers when it has stopped.
import { check } from '../../api/check.ts'
import type { OperationView } from '../../api/get-operations.ts'
import { roleOfDeed } from '../../api/operation-deeds.ts'
import { STOP_OPERATION, type StopOperationRequest } from '../../api/stop-operation.ts'
import { denial } from '../../model/caller.ts'
import { FluxError } from '../../model/failure.ts'
import { operationViewOf } from '../operations/operation-rows.ts'
import type { CallEnv } from './call-env.ts'
import { visibleOperation } from './get-operations.ts'

/** See `FluxApi`. That of others may be stopped by who may do the same. */
export async function stopOperation(env: CallEnv, request: StopOperationRequest): Promise<OperationView> {
  const { operationId } = check(STOP_OPERATION, request)
  const { do: name, scope } = await visibleOperation(env, operationId)
  const failure = scope === env.scope ? null : denial(env.caller, roleOfDeed(name))
  if (failure) throw new FluxError(failure)
  return operationViewOf(await env.operations.stop(operationId))
}
