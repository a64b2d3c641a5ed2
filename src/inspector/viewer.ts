// inspector: who looks at a page, and what they may do there. The parts of a page know its viewer without being told.
import { createContext, useContext } from 'hono/jsx'
import type { FluxApi } from '../api/calls.ts'
import type { Caller, Role } from '../model/caller.ts'

export interface Viewer {
  readonly caller: Caller
  readonly api: FluxApi
  /** Which forms must send along. */
  readonly formToken: string
  readonly hasSession: boolean
  /** Whether forms that need the role are shown. */
  readonly may: (role: Role) => boolean
  /** Epoch milliseconds, at which the page is made. */
  readonly now: number
  /** Version of the server. */
  readonly version: string
  /** Where the browser finds the server: for commands that are shown. */
  readonly origin: string
}

export const ViewerContext = createContext<Viewer | null>(null)

/** The viewer of the page that is being made. */
export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext)
  if (!viewer) throw new Error('this is no part of a page')
  return viewer
}
