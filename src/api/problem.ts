// api: the answer to a refused request (RFC 9457), and the answer of a webhook whose workflow has paused.
import { z } from 'zod'
import { component } from './component.ts'
import { contextId, RESPONSE, text } from './fields.ts'
import { contextAnswer } from './get-context.ts'

/** XML namespace of problems. RFC 9457 keeps that of RFC 7807 (appendix B). */
export const PROBLEM_NAMESPACE = 'urn:ietf:rfc:7807'

export const problemSchema = component(
  'Problem',
  z.object({
    type: text,
    title: text,
    status: z.number().int(),
    detail: text,
    instance: text.optional(),
    errors: z.array(z.object({ pointer: text, detail: text })).optional(),
    contextId: contextId.optional().meta({ description: 'Only in problems of webhooks: the context that was started' }),
    hint: text.optional().meta({ description: 'Says that no service knows the event that was sent' }),
    context: contextAnswer.optional().meta({ description: 'Only in problems of waits: the context, as it is' }),
  }),
  { xml: { name: 'problem', namespace: PROBLEM_NAMESPACE }, description: 'RFC 9457' },
)

/** The answer of a webhook whose workflow has paused. Other answers of workflows may be any data. */
export const pausedAnswer = z.object({ contextId, status: text }).meta({ xml: RESPONSE })
