// api: starts a service.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import {
  ADDED,
  contextKey,
  bodyTags,
  contextId,
  eventKey,
  input,
  name,
  orNull,
  RESPONSE,
  text,
  untyped,
} from './fields.ts'

export const EXECUTE = describeCall({
  id: 'execute',
  summary: 'Start a service',
  method: 'POST',
  route: '/flux-api/:package/execute',
  role: 'invoke',
  problems: [404, 409, 413, 415, 422],
  // In process it may be left out: the caller's own package is sought first.
  path: {
    package: name('Name of a package: its folder')
      .meta({ examples: ['examples'] })
      .optional(),
  },
  body: {
    fluxName: name('Name of the service in its package'),
    startState: orNull(
      z.string({ error: 'must be a text' }).meta({ description: 'The first state, if not the usual one' }),
    ),
    input: input(),
    tags: bodyTags(),
    key: orNull(
      contextKey('Unique among the unfinished contexts of the service, instead of the key that it gives itself'),
    ),
    existing: orNull(
      z
        .enum(['refuse', 'use', 'replace'], { error: 'must be refuse, use or replace' })
        .meta({ description: 'What to do when the key is in use; refuse, if left out' }),
    ),
  },
  internal: { untyped, idempotencyKey: orNull(eventKey('Key under which the start is done once')) },
  content: ['startState', 'input', 'tags', 'key'],
  strict: true,
  answer: component(
    'Execution',
    z.object({
      message: text,
      contextId,
      started: z.boolean().meta({ description: 'False: that context has the key already', xsd: ADDED }),
      replaced: contextId
        .exactOptional()
        .meta({ description: 'The context that had the key, and was terminated in the same commit' }),
    }),
    { xml: RESPONSE },
  ),
  bodyExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
  answerExample: { message: "started 'ApprovalWithTimeout' as context 1", contextId: 1, started: true },
})

export type ExecuteRequest = RequestOf<typeof EXECUTE>
export type ExecuteAnswer = AnswerOf<typeof EXECUTE>
