// http: notices when the client of a request that is held has gone.
import type { Context } from 'hono'
import { unavailable } from '../../model/failure.ts'
import { ReadScope } from '../../model/read-scope.ts'
import type { Env } from './incoming.ts'

/** Aborted when the client hangs up; undefined where there is no socket. */
export function hangUpSignal(c: Context<Env>): AbortSignal | undefined {
  const outgoing = c.env?.outgoing
  if (outgoing === undefined) return undefined
  const controller = new AbortController()
  const abort = () => controller.abort(unavailable('the client has hung up'))
  if (outgoing.destroyed) abort()
  else
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) abort()
    })
  return controller.signal
}

/** Of a request that changes nothing: it ends with its client. */
export const readScopeOf = (c: Context<Env>): ReadScope => new ReadScope(hangUpSignal(c))
