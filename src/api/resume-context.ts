// api: resumes a paused context.
import { address, checkAddress } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { idempotencyKey, REPLAYED_HEADER } from './fields.ts'
import { messageAnswer } from './terminate.ts'

export const RESUME = describeCall({
  id: 'resume',
  summary: 'Resume a paused context: it takes the events that it kept, then what is due',
  method: 'POST',
  route: '/flux-api/context/resume',
  role: 'admin',
  problems: [404, 409, 422, 429],
  takesKey: true,
  answerHeaders: REPLAYED_HEADER,
  query: address(),
  internal: { idempotencyKey },
  together: checkAddress,
  content: ['key'],
  strict: true,
  answer: messageAnswer,
  answerExample: { message: 'resumed context 1' },
})

export type ResumeRequest = RequestOf<typeof RESUME>
