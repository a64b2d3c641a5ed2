// inspector: who looks at a page, and what they may do there.
import type { FluxApi } from '../api/calls.ts'
import { denial, type Caller, type Role } from '../model/caller.ts'

export interface Visitor {
  readonly caller: Caller
  readonly api: FluxApi
  /** Which forms must send along. */
  readonly formToken: string
  readonly hasSession: boolean
  /** Whether forms that change something are shown. */
  readonly mayInvoke: boolean
  /** Whether forms that steer contexts are shown: retry, pause, resume. */
  readonly mayAdminister: boolean
  /** Epoch milliseconds, at which the page is made. */
  readonly now: number
  /** Of the server. */
  readonly version: string
  /** Where the browser finds the server: for commands that are shown. */
  readonly origin: string
}

/** Who has no token may do everything that isn't secured, unless all calls need one. */
export const mayUse = (caller: Caller, role: Role, requireAuth: boolean): boolean =>
  (caller.roles.length === 0 && !requireAuth) || denial(caller, role) === null

/** Whether forms are shown that need the role. */
export const isShown = ({ mayInvoke, mayAdminister }: Visitor, role: Role): boolean =>
  role === 'admin' ? mayAdminister : role === 'read' || mayInvoke
