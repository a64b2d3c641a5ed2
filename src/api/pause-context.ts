// api: pauses a context.
import { address, checkAddress } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { idempotencyKey, REPLAYED_HEADER } from './fields.ts'
import { messageAnswer } from './terminate.ts'

export const PAUSE = describeCall({
  id: 'pause',
  summary: 'Pause a context: it starts no step, takes no wake-up, and keeps the events that it is sent',
  method: 'POST',
  route: '/flux-api/context/pause',
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
  answerExample: { message: 'paused context 1' },
})

export type PauseRequest = RequestOf<typeof PAUSE>
