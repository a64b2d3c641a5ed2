// api: shows a service as the configuration of a machine of XState: a picture of its states and transitions.
import { z } from 'zod'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { object } from './fields.ts'
import { definitionAddress, definitionNamedBy } from './get-definition.ts'

export const GET_MACHINE = {
  ...describeCall({
    id: 'getMachine',
    summary: 'Show a service, or the definition that a context was started with, as a machine of XState v5',
    method: 'GET',
    route: '/flux-api/machine',
    role: 'read',
    problems: [404, 409, 422],
    content: ['key'],
    query: definitionAddress,
    answer: component('Machine', object, {
      xml: { name: 'machine' },
      description: 'Configuration for `createMachine` of XState v5: a picture, without conditions and actions',
    }),
    answerExample: {
      id: 'ApprovalWithTimeout',
      initial: 'WaitForDecision',
      states: {
        WaitForDecision: {
          on: { approve: { target: 'Approved' } },
          after: { '86400000': { target: 'Expired' } },
        },
        Approved: { type: 'final' },
        Expired: { type: 'final' },
      },
    },
  }),
  request: z.object(definitionAddress).transform((fields, context) => definitionNamedBy(fields, context) ?? z.NEVER),
}

export type MachineRequest = RequestOf<typeof GET_MACHINE>
