// api: shows how far an operation is, or lists operations.
import { z } from 'zod'
import { describeCall } from './call.ts'
import { component } from './component.ts'
import { contextId, name, object, text, time } from './fields.ts'
import { DEED_NAMES } from './operation-deeds.ts'

/** Operations of a list. */
export const MAX_LISTED_OPERATIONS = 1000
/** Of an operation. */
export const MAX_OPERATION_ERRORS = 100

const count = z.number().int().nonnegative()

export const operationAnswer = component(
  'Operation',
  z.object({
    operationId: text,
    do: z.enum(DEED_NAMES).meta({ xsd: { type: 'deed' } }),
    filter: object.meta({ description: 'As it was given' }),
    status: z.enum(['running', 'done', 'stopped']).meta({ xsd: { type: 'operationStatus' } }),
    matched: count.meta({ description: 'Contexts that matched at the start' }),
    done: count.meta({ description: 'Contexts that it was done with: `changed` and `failed`' }),
    changed: count,
    failed: count.meta({ description: 'Contexts that could not take it' }),
    errors: z
      .array(z.object({ contextId, detail: text }))
      .meta({ description: `Why contexts could not take it: the first ${MAX_OPERATION_ERRORS}` }),
    startedAt: time,
    endedAt: time.nullable(),
  }),
  { xml: { name: 'operation' } },
)

export const OPERATION_EXAMPLE: OperationView = {
  operationId: '2rmv0d1s7-k3x9w2c8q1zt',
  do: 'event',
  filter: { fluxName: 'Order', currentState: 'WaitForPayment' },
  status: 'running',
  matched: 25_000,
  done: 4000,
  changed: 3999,
  failed: 1,
  errors: [{ contextId: 17, detail: "context 17 does not wait for 'remind'" }],
  startedAt: 1_767_225_600_000,
  endedAt: null,
}

export const GET_OPERATIONS = describeCall({
  id: 'getOperations',
  summary: 'Show how far an operation is, or the last 1,000 operations, newest first',
  method: 'GET',
  route: '/flux-api/operations',
  role: 'read',
  problems: [404],
  query: { operationId: name('Only this operation, and no list').optional() },
  strict: true,
  answer: component('Operations', z.array(operationAnswer), { xml: { name: 'operations' } }),
  answerExample: [OPERATION_EXAMPLE],
  one: { answer: operationAnswer },
})

export type OperationView = z.output<typeof operationAnswer>
