// http: tokens with a rate. Each call takes one of what the token has left, and every answer to it has what is left.
// Callers without a rate are not looked at.
import type { Context } from 'hono'
import type { Caller } from '../../model/caller.ts'
import type { Env } from './incoming.ts'

/** Counts the call, once for each request. @throws FluxError `rateLimited` */
export function takeQuota(c: Context<Env>, { quota }: Caller): void {
  if (quota === undefined || c.get('quota')) return
  c.set('quota', quota)
  quota.take(1)
}

/** The headers for an answer to that request (draft-ietf-httpapi-ratelimit-headers); null: its caller has no rate. */
export function quotaHeaders(c: Context<Env>): { readonly [name: string]: string } | null {
  const quota = c.get('quota')
  if (quota === undefined) return null
  const { remaining, reset, limit, window } = quota.state()
  return {
    ratelimit: `"token";r=${remaining};t=${reset}`,
    'ratelimit-policy': `"token";q=${limit};w=${window}`,
  }
}
