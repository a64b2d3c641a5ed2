// api: how a call names a context: by its id, or by its key, together with its service.
import type { z } from 'zod'
import type { Issues } from './call.ts'
import { contextKey, id, name } from './fields.ts'

/** Fields of a request. What there must be of them, `checkAddress` checks. */
export const address = (described = 'Id of the context; or else key and fluxName') => ({
  contextId: id(described).optional(),
  key: contextKey('Key of the context: the unfinished one, else the newest').optional(),
  fluxName: name('The service whose key it is').optional(),
  package: name('The package of that service, where several have one of that name').optional(),
})

/** A context, as calls name it. */
export type Address = z.output<z.ZodObject<ReturnType<typeof address>>>

type Check = (fields: Address, issues: Issues) => void

/** A context must be named, and in one way. */
export const checkAddress: Check = (fields, issues) => {
  const { contextId, key } = fields
  if (contextId === undefined && key === undefined) add(issues, 'contextId', 'is required (or key with fluxName)')
  checkAddressIfAny(fields, issues)
}

/** What starts a context where none has the key says, if need be, of which service that is. */
export const checkAddressOfEvent = (
  {
    orStart,
    ttl,
    ...fields
  }: Address & {
    readonly orStart?: { [field in 'fluxName' | 'package']?: string | null | undefined } | null | undefined
    readonly ttl?: unknown
  },
  issues: Issues,
): void => {
  if (!orStart) return checkAddressIfAny(fields, issues)
  const { key, fluxName = orStart.fluxName ?? undefined } = fields
  if (key === undefined) add(issues, 'key', 'must be given with orStart')
  // It is kept until the context ends.
  if (ttl != null) add(issues, 'ttl', 'must not be given beside orStart')
  for (const field of ['fluxName', 'package'] as const) {
    const [outer, inner] = [fields[field], orStart[field] ?? undefined]
    if (outer !== undefined && inner !== undefined && outer !== inner)
      add(issues, field, 'must be the one in orStart, or be left out')
  }
  checkAddressIfAny({ ...fields, fluxName }, issues)
}

/** A context may be named, in one way. */
export const checkAddressIfAny: Check = ({ contextId, key, fluxName, package: owner }, issues) => {
  if (key === undefined && fluxName === undefined && owner === undefined) return
  if (key === undefined) add(issues, 'key', 'must be given with fluxName and package')
  else if (contextId !== undefined) add(issues, 'contextId', 'must not be given beside key')
  else if (fluxName === undefined) add(issues, 'fluxName', 'must be given with key')
}

function add(issues: Issues, field: keyof Address | 'ttl', message: string): void {
  issues.addIssue({ code: 'custom', message, path: [field] })
}
