// api: shows the definition of a service.
import { z } from 'zod'
import { address, checkAddress } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { name, object } from './fields.ts'

const query = {
  ...address('Id of a context: the definition that it was started with. It comes before fluxName'),
  fluxName: name('Name of the service').optional(),
}

export const GET_DEFINITION = {
  ...describeCall({
    id: 'getDefinition',
    summary: 'Show the definition of a service, or the one that a context was started with',
    method: 'GET',
    route: '/flux-api/definition',
    role: 'read',
    problems: [404, 409, 422],
    content: ['key'],
    query,
    answer: component('Definition', object, { xml: { name: 'definition' }, description: 'The file of the service' }),
    answerExample: {
      states: [
        { name: 'WaitForDecision', waiting: true, transitions: [{ event: 'approve', to: 'Approved' }] },
        { name: 'Approved' },
      ],
    },
  }),
  request: z.object(query).transform((fields, context) => {
    const { fluxName, contextId, key, package: owner } = fields
    if (key !== undefined) checkAddress(fields, context)
    if (contextId !== undefined) return { contextId }
    if (fluxName !== undefined) return { fluxName, key, package: owner }
    if (key === undefined) context.addIssue({ code: 'custom', message: 'fluxName or contextId must be given' })
    return z.NEVER
  }),
}

export type DefinitionRequest = RequestOf<typeof GET_DEFINITION>
