// inspector: who looks at a page, and what they may do there.
import type { FluxApi } from '../api/flux-api.ts'
import { denial, type Caller } from '../model/caller.ts'

export interface Visitor {
  readonly caller: Caller
  readonly api: FluxApi
  /** Which forms must send along. */
  readonly formToken: string
  readonly hasSession: boolean
  /** Whether forms that change something are shown. */
  readonly mayInvoke: boolean
  /** Epoch milliseconds, at which the page is made. */
  readonly now: number
  /** Of the server. */
  readonly version: string
}

/** Who has no token may do everything that isn't secured, unless all calls need one. */
export const mayInvoke = (caller: Caller, requireAuth: boolean): boolean =>
  (caller.roles.length === 0 && !requireAuth) || denial(caller, 'invoke') === null
