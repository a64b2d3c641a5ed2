// api: tells a server that was started paused to go on.
import { describeCall } from './call.ts'
import { messageAnswer } from './terminate.ts'

export const RESUME_SERVER = describeCall({
  id: 'resumeServer',
  summary:
    'Tell this server, if it was started paused, to go on; a server that asks for no token is told so from its own machine only',
  method: 'POST',
  route: '/flux-api/server/resume',
  role: 'admin',
  problems: [],
  strict: true,
  answer: messageAnswer,
  answerExample: { message: 'the server goes on' },
})
