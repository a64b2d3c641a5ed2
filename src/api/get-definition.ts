// api: shows the definition of a service.
import { z } from 'zod'
import { address, checkAddress, type Address } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { flag, name, object } from './fields.ts'

/** Fields that name a definition: by its service, or by a context that was started with it. */
export const definitionAddress = {
  ...address('Id of a context: the definition that it was started with. It comes before fluxName'),
  fluxName: name('Name of the service').optional(),
}

type Issues = Parameters<typeof checkAddress>[1]
/** The fields that name a definition; null, with an issue, if they name none. */
export function definitionNamedBy(fields: Address, issues: Issues): Address | null {
  const { fluxName, contextId, key, package: owner } = fields
  if (key !== undefined) checkAddress(fields, issues)
  if (contextId !== undefined) return { contextId }
  if (fluxName !== undefined) return { fluxName, key, package: owner }
  if (key === undefined) issues.addIssue({ code: 'custom', message: 'fluxName or contextId must be given', path: [] })
  return null
}

const query = {
  ...definitionAddress,
  resolved: flag('true: with the models that it refers to, in `models`, so that it needs no other files').optional(),
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
  request: z.object(query).transform(({ resolved, ...fields }, context) => {
    const named = definitionNamedBy(fields, context)
    return named === null ? z.NEVER : { ...named, ...(resolved === true && { resolved }) }
  }),
}

export type DefinitionRequest = RequestOf<typeof GET_DEFINITION>
