// api: what is answered to what is refused (RFC 9457), and what a webhook answers whose workflow goes on.
import { z } from 'zod'
import { component } from './component.ts'
import { contextId, RESPONSE, text } from './fields.ts'
import { contextAnswer } from './get-context.ts'

/** That of RFC 7807 still (RFC 9457, appendix B). */
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
    contextId: contextId.optional().meta({ description: 'Of a webhook: the context that it started' }),
    hint: text.optional().meta({ description: 'That no service knows the event that was sent' }),
    context: contextAnswer.optional().meta({ description: 'Of a wait: the context that was waited for, as it is' }),
  }),
  { xml: { name: 'problem', namespace: PROBLEM_NAMESPACE }, description: 'RFC 9457' },
)

/** What a workflow itself answers may be any data. */
export const pausedAnswer = z.object({ contextId, status: text }).meta({ xml: RESPONSE })
