// engine/calls: `stopOperation` stops an operation, and answers when it has stopped.
import { check } from '../../api/check.ts'
import type { OperationView } from '../../api/get-operations.ts'
import { STOP_OPERATION, type StopOperationRequest } from '../../api/stop-operation.ts'
import { isAvailable, roleOf } from '../operations/deeds.ts'
import { operationViewOf } from '../operations/operation-rows.ts'
import type { CallEnv } from './call-env.ts'
import { visibleOperation } from './get-operations.ts'
import { requireRoleForMany } from './start-operation.ts'

/** See `FluxApi`. */
export async function stopOperation(env: CallEnv, request: StopOperationRequest): Promise<OperationView> {
  const { operationId } = check(STOP_OPERATION, request)
  const { do: name } = await visibleOperation(env, operationId)
  requireRoleForMany(env, isAvailable(name) ? roleOf(name) : 'admin')
  return operationViewOf(await env.operations.stop(operationId))
}
