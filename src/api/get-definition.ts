// api: shows the definition of a service.
import { z } from 'zod'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { id, name, object } from './fields.ts'

const query = {
  fluxName: name('Name of the service').optional(),
  contextId: id(
    'Id of a context, to get the definition that it was started with. It takes precedence over fluxName',
  ).optional(),
}

export const GET_DEFINITION = {
  ...describeCall({
    id: 'getDefinition',
    summary: 'Show the definition of a service, or the one that a context was started with',
    method: 'GET',
    route: '/flux-api/definition',
    role: 'read',
    problems: [404, 409],
    query,
    answer: component('Definition', object, { xml: { name: 'definition' }, description: 'The file of the service' }),
    answerExample: {
      states: [
        { name: 'WaitForDecision', waiting: true, transitions: [{ event: 'approve', to: 'Approved' }] },
        { name: 'Approved' },
      ],
    },
  }),
  request: z.object(query).transform(({ fluxName, contextId }, { issues }) => {
    if (contextId !== undefined) return { contextId }
    if (fluxName !== undefined) return { fluxName }
    issues.push({ code: 'custom', message: 'fluxName or contextId must be given', input: undefined })
    return z.NEVER
  }),
}

export type DefinitionRequest = RequestOf<typeof GET_DEFINITION>
