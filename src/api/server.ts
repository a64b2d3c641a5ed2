// api: what concerns the server that answers: the answer to a refused request (RFC 9457), that of a webhook whose
// workflow has paused, and the call that resumes a server that was started paused.
import { z } from 'zod'
import { component, describeCall } from './call.ts'
import { contextAnswer } from './contexts.ts'
import { contextId, integer, text, messageAnswer } from './fields.ts'

/** XML namespace of problems. RFC 9457 keeps that of RFC 7807 (appendix B). */
export const PROBLEM_NAMESPACE = 'urn:ietf:rfc:7807'

export const problemSchema = component(
  'Problem',
  z.object({
    type: text,
    title: text,
    status: integer,
    detail: text,
    instance: text.optional(),
    errors: z.array(z.object({ pointer: text, detail: text })).optional(),
    contextId: contextId.optional().describe('Only in problems of webhooks: the context that was started'),
    version: integer.optional().describe('Only in 412: the version that the context has'),
    hint: text.optional().describe('Says that no service knows the event that was sent'),
    context: contextAnswer.optional().describe('Only in problems of waits: the context, as it is'),
  }),
  { xml: { name: 'problem', namespace: PROBLEM_NAMESPACE }, description: 'RFC 9457' },
)

/** The answer of a webhook whose workflow has paused. Other answers of workflows may be any data. */
export const pausedAnswer = z.object({ contextId, status: text }).meta({ xml: { name: 'response' } })

export const SERVER_CALLS = {
  resumeServer: describeCall({
    summary:
      'Resume this server, if it was started paused. A server that requires no token accepts the call from its own machine only',
    method: 'POST',
    route: '/flux-api/server/resume',
    role: 'admin',
    answer: messageAnswer,
    answerExample: { message: 'the server goes on' },
  }),
}
