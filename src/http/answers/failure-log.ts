// http: what becomes of an error where a request isn't refused as a whole. What isn't for the client is logged.
import type { Context } from 'hono'
import { FluxError, type Failure } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'
import type { Env } from '../request/incoming.ts'
import { pathShown } from '../socket/observe.ts'

/** Gives how a part of that request is refused. */
export function failureLog(c: Context<Env>, log: Log): (error: unknown) => Failure {
  const [{ method }, path] = [c.req, pathShown(c)]
  return (error) => {
    if (error instanceof FluxError) {
      if (error.cause !== undefined) log.error('a request was refused', { method, path, error })
      return error.failure
    }
    log.error('a request failed', { method, path, error })
    return { kind: 'internal', detail: 'the reason is in the log of the server' }
  }
}
