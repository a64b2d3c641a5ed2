// engine/calls: `pause` and `resume`, which answer once the change is committed.
import { check } from '../../api/check.ts'
import { PAUSE, type PauseRequest } from '../../api/pause-context.ts'
import { RESUME, type ResumeRequest } from '../../api/resume-context.ts'
import type { MessageAnswer } from '../../api/terminate.ts'
import type { ContextId } from '../../model/context.ts'
import type { CallEnv } from './call-env.ts'
import { sendOnce } from './send-once.ts'

/** See `FluxApi`. */
export async function pauseContext(env: CallEnv, request: PauseRequest): Promise<MessageAnswer> {
  const { idempotencyKey: key, ...address } = check(PAUSE, request)
  return sendOnce(env, {
    of: PAUSE,
    key,
    content: address,
    address,
    input: { type: 'PAUSE', caller: env.caller },
    answerOf: pausedAnswerOf,
  })
}

/** See `FluxApi`. */
export async function resumeContext(env: CallEnv, request: ResumeRequest): Promise<MessageAnswer> {
  const { idempotencyKey: key, ...address } = check(RESUME, request)
  return sendOnce(env, {
    of: RESUME,
    key,
    content: address,
    address,
    input: { type: 'RESUME', caller: env.caller },
    answerOf: resumedAnswerOf,
  })
}

const pausedAnswerOf = (contextId: ContextId) => ({ message: `paused context ${contextId}` })
const resumedAnswerOf = (contextId: ContextId) => ({ message: `resumed context ${contextId}` })
