// http: which of several requests must keep their order: those that name the same context, or the same key of a service.
import type { CallFields } from '../request/call-fields.ts'

/** null: it names no context. */
export function concernOf({ contextId, key, fluxName, package: given }: CallFields): number | string | null {
  if (typeof contextId === 'number') return contextId
  return typeof key === 'string' ? JSON.stringify([given, fluxName, key]) : null
}
