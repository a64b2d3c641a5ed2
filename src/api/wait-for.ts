// api: holds the request until a context gets somewhere.
import { z } from 'zod'
import { CONTEXT_STATUSES, type Status } from '../model/context.ts'
import { describeCall, type RequestOf } from './call.ts'
import { countField, id, repeated, tags } from './fields.ts'
import { CONTEXT_EXAMPLE, contextAnswer } from './get-context.ts'

const DEFAULT_TIMEOUT_SECONDS = 30
/** A request is never held longer. */
export const MAX_TIMEOUT_SECONDS = 300

const isStatus = (value: unknown): value is Status => CONTEXT_STATUSES.some((status) => status === value)

export const WAIT_FOR = describeCall({
  id: 'waitFor',
  summary: 'Wait until a context has a status, enters a state or has a tag: any of those named',
  method: 'GET',
  route: '/flux-api/context/wait',
  role: 'read',
  problems: [404, 409, 422, 504],
  query: {
    contextId: id(),
    status: z
      .array(z.custom<Status>(isStatus, { error: `must be one of ${CONTEXT_STATUSES.join(', ')}` }), {
        error: 'must be a list of texts',
      })
      .readonly()
      .meta({
        items: { type: 'string', enum: CONTEXT_STATUSES },
        description: 'A status to wait for. Repeat the parameter, or separate by commas',
      })
      .optional(),
    state: repeated('A state of the service to wait for: to stand in it, or to have entered it. Repeat the parameter'),
    tag: tags('A tag to wait for. Repeat the parameter, or separate by commas').optional(),
    timeout: countField(0, `Seconds; ${DEFAULT_TIMEOUT_SECONDS} if left out; above ${MAX_TIMEOUT_SECONDS} means that`)
      .transform((seconds) => Math.min(seconds, MAX_TIMEOUT_SECONDS))
      .default(DEFAULT_TIMEOUT_SECONDS),
  },
  content: ['status', 'state', 'tag'],
  strict: true,
  answer: contextAnswer,
  answerExample: CONTEXT_EXAMPLE,
})

export type WaitRequest = RequestOf<typeof WAIT_FOR>

/** The statuses of a context that rests: it waits, or has ended. */
export const AT_REST: readonly Status[] = CONTEXT_STATUSES.filter((status) => status !== 'RUNNING')
