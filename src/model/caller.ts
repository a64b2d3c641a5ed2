// model: who calls, and what they may.
import type { Failure } from './failure.ts'

/** `read`: views. `invoke`: all calls. `admin`: those and what operates the server. */
export type Role = 'read' | 'invoke' | 'admin'

/** No roles: anonymous, who may do everything that isn't secured. */
export interface Caller {
  readonly roles: readonly Role[]
}

export const ANONYMOUS: Caller = { roles: [] }
/** The runtime itself, and the functions of services. */
export const SYSTEM: Caller = { roles: ['admin'] }

const RANK = { read: 1, invoke: 2, admin: 3 }

/** Why that caller may not do what is guarded by the role; null if they may. */
export function denial({ roles }: Caller, needed: Role): Failure | null {
  if (roles.some((role) => RANK[role] >= RANK[needed])) return null
  return roles.length === 0
    ? { kind: 'unauthorized', detail: 'a bearer token is needed', token: 'none' }
    : { kind: 'forbidden', detail: `a token with the role '${needed}' is needed` }
}
