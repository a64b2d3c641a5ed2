// api: stops an event that is still being sent to those that it is for.
import { describeCall, type RequestOf } from './call.ts'
import { checkEventName, eventName, RECEIPT_EXAMPLE, receiptAnswer } from './get-event.ts'

export const STOP_EVENT = describeCall({
  id: 'stopEvent',
  summary: 'Stop an event that is being sent to all that wait for it: whom it did not reach yet does not get it',
  method: 'DELETE',
  route: '/flux-api/event',
  role: 'invoke',
  problems: [404, 409],
  query: eventName,
  together: checkEventName,
  strict: true,
  answer: receiptAnswer,
  answerExample: RECEIPT_EXAMPLE,
})

export type StopEventRequest = RequestOf<typeof STOP_EVENT>
