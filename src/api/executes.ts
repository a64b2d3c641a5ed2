// api: starts many contexts, a line each.
import { z } from 'zod'
import { component } from './component.ts'
import { EXECUTE } from './execute.ts'
import { contextId, idempotencyKey } from './fields.ts'
import { replayedLine, type StreamCall } from './stream-call.ts'

export const EXECUTES: StreamCall = {
  id: 'executes',
  summary: 'Start many contexts, a line each',
  route: '/flux-api/:package/executes',
  each: EXECUTE,
  line: { ...EXECUTE.body, idempotencyKey },
  lineExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
  answer: component(
    'ExecutionLine',
    z.object({
      n: z.number().int(),
      status: z.number().int(),
      contextId,
      started: z.boolean(),
      replaced: contextId.exactOptional(),
      replayed: replayedLine,
    }),
  ),
  answerExample: { n: 0, status: 200, contextId: 1, started: true },
}
