// api: sends many events, a line each.
import { z } from 'zod'
import { component } from './component.ts'
import { text } from './fields.ts'
import { SEND_EVENT } from './send-event.ts'
import { replayedLine, type StreamCall } from './stream-call.ts'

const { message: _message, context: _context, ...told } = SEND_EVENT.answer.shape

const acceptedLine = component(
  'AcceptedLine',
  z.object({ n: z.number().int(), status: z.literal(202), eventId: text, replayed: replayedLine }),
  { description: 'The event is for many: it is stored, and goes to all that it is for' },
)

export const SEND_EVENTS: StreamCall = {
  id: 'sendEvents',
  summary: 'Send many events, a line each',
  route: '/flux-api/events',
  each: SEND_EVENT,
  line: SEND_EVENT.body ?? {},
  lineExample: { event: 'approve', contextId: 1, input: { by: 'Ada' } },
  answer: component(
    'EventLine',
    z.object({ n: z.number().int(), status: z.number().int(), ...told, replayed: replayedLine }),
  ),
  accepted: acceptedLine,
  answerExample: {
    n: 0,
    status: 200,
    transitions: [{ contextId: 1, state: 'Approved' }],
    executions: [],
    ignored: [],
    eventId: '019f2c5e-8a4b-7cc3-9d51-2f6a7b8c9d0e',
    pending: [],
  },
}
