// model: callers and their roles.
import type { Failure } from './failure.ts'

/** Each includes those before it. */
export type Role = 'read' | 'invoke' | 'admin'

/** What each role allows, as help and documents say it. */
export const ROLE_MEANINGS: { readonly [role in Role]: string } = {
  read: 'all that only reads',
  invoke: 'also starts, events, tags, terminating and replays of deliveries',
  admin: 'also retry, pause and resume, of contexts and of a server',
}

/** How many calls a token may still make; over HTTP alone. */
export interface Quota {
  /** Takes so many calls. @throws FluxError `rateLimited` when there are not as many; then it takes none */
  take(calls: number): void
  /** What is left, and what there is at most. */
  state(): QuotaState
}

export interface QuotaState {
  readonly remaining: number
  /** Seconds until there is one more; 0: there are as many as there may be. */
  readonly reset: number
  /** Calls in `window` seconds. */
  readonly limit: number
  readonly window: number
}

/** A caller without roles is anonymous and may use everything that is not secured. */
export interface Caller {
  /** Name of the token; left out: no token was sent, or the runtime itself calls. */
  readonly name?: string
  readonly roles: readonly Role[]
  /** Left out: as many calls as it likes. */
  readonly quota?: Quota
}

/** Whose idempotency keys those of a token are; undefined: no token. */
export const scopeOfToken = (name: string | undefined): string => (name === undefined ? 'nobody' : `token ${name}`)

export const ANONYMOUS: Caller = { roles: [] }
/** The runtime itself, and the functions of services. */
export const SYSTEM: Caller = { roles: ['admin'] }

const RANK = { read: 1, invoke: 2, admin: 3 }

/** Why the caller may not do what requires the role; null if they may. */
export function denial({ roles }: Caller, needed: Role): Failure | null {
  if (roles.some((role) => RANK[role] >= RANK[needed])) return null
  return roles.length === 0
    ? { kind: 'unauthorized', detail: 'a bearer token is needed', token: 'none' }
    : { kind: 'forbidden', detail: `a token with the role '${needed}' is needed` }
}
