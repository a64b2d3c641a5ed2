// api: stops an operation.
import { describeCall, type RequestOf } from './call.ts'
import { name } from './fields.ts'
import { operationAnswer, OPERATION_EXAMPLE } from './get-operations.ts'

export const STOP_OPERATION = describeCall({
  id: 'stopOperation',
  summary: 'Stop an operation: contexts that it did not come to yet stay as they are',
  method: 'DELETE',
  route: '/flux-api/operations',
  role: 'invoke',
  problems: [404, 409],
  query: { operationId: name('Id of the operation') },
  strict: true,
  answer: operationAnswer,
  answerExample: { ...OPERATION_EXAMPLE, status: 'stopped', endedAt: 1_767_225_604_000 },
})

export type StopOperationRequest = RequestOf<typeof STOP_OPERATION>
