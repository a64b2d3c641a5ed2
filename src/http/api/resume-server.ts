// http: the call that tells a server that was started paused to go on. It concerns the process that answers, not contexts.
import { CALLS } from '../../api/calls.ts'
import type { Hono } from 'hono'
import type { Authenticate } from '../../access/authenticate.ts'
import { rootOf } from '../../api/call.ts'
import { denial } from '../../model/caller.ts'
import { FluxError } from '../../model/failure.ts'
import type { Answers } from '../answers/answers.ts'
import { authorizationOf, type Env } from '../request/incoming.ts'
import { isLocal, type OriginGuard } from '../request/origin-guard.ts'
import { readQuery } from '../request/query.ts'
import { acceptedFormat, callHeaders } from './answer-format.ts'
import { takeQuota } from './quotas.ts'

interface ResumeParts {
  readonly authenticate: Authenticate
  readonly requireAuth: boolean
  readonly origins: OriginGuard
  readonly answers: Answers
  /** Left out: the server can't be paused. */
  readonly resumeServer?: () => Promise<void>
}

export function addResumeServer(app: Hono<Env>, parts: ResumeParts): void {
  const { authenticate, requireAuth, origins, answers, resumeServer } = parts
  app.on(CALLS.resumeServer.method, CALLS.resumeServer.route, async (c) => {
    origins.checkCall(c)
    const caller = authenticate(authorizationOf(c))
    if (caller.quota) takeQuota(c, caller)
    const isTrusted = !requireAuth && isLocal(c)
    const failure = isTrusted ? null : denial(caller, 'admin')
    if (failure) throw new FluxError(failure)
    const format = acceptedFormat(c)
    readQuery(c.req.url, new Map())
    await resumeServer?.()
    const answer = { message: 'the server goes on' }
    return answers.send(c, answer, format.pieces(answer, rootOf(CALLS.resumeServer.answer)), {
      status: 200,
      headers: callHeaders(c, format),
    })
  })
}
