// api: withdraws an event that is kept until a context waits for it.
import { describeCall, type RequestOf } from './call.ts'
import { knownEventId } from './fields.ts'
import { messageAnswer } from './terminate.ts'

export const WITHDRAW = describeCall({
  id: 'withdraw',
  summary: 'Withdraw an event that is kept until a context waits for it',
  method: 'DELETE',
  route: '/flux-api/events/pending',
  role: 'invoke',
  problems: [404, 409, 429],
  query: { eventId: knownEventId('Id of the event') },
  strict: true,
  answer: messageAnswer,
  answerExample: { message: "withdrew the event 'order-17-paid'" },
})

export type WithdrawRequest = RequestOf<typeof WITHDRAW>
