// http: the metrics, for a program on this machine where no token is required, or one with a token.
import type { Hono } from 'hono'
import { denial } from '../model/caller.ts'
import { FluxError } from '../model/failure.ts'
import type { FluxApiParts } from './api/routes.ts'
import { authorizationOf, type Env } from './request/incoming.ts'
import { isLocal } from './request/origin-guard.ts'

export interface MetricsOptions {
  /** All metrics, as Prometheus reads them. */
  readonly exposition: () => Promise<{ readonly contentType: string; readonly text: string }>
  /** Whether anybody may read them. */
  readonly isOpen: boolean
}

export function addMetrics(
  app: Hono<Env>,
  { exposition, isOpen }: MetricsOptions,
  { authenticate, origins, requireAuth }: Pick<FluxApiParts, 'authenticate' | 'origins' | 'requireAuth'>,
): void {
  app.get('/metrics', async (c) => {
    origins.checkHost(c)
    const failure = isOpen || (!requireAuth && isLocal(c)) ? null : denial(authenticate(authorizationOf(c)), 'read')
    if (failure) throw new FluxError(failure)
    const { contentType, text } = await exposition()
    return c.body(text, 200, { 'content-type': contentType, 'cache-control': 'no-store' })
  })
}
