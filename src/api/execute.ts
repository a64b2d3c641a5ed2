// api: starts a service.
import { z } from 'zod'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import {
  ADDED,
  bodyTags,
  contextId,
  contextKey,
  idempotencyKey,
  input,
  name,
  orNull,
  REPLAYED_HEADER,
  RESPONSE,
  text,
  untyped,
  waits,
} from './fields.ts'
import { contextField, PREFERS_WAIT } from './get-context.ts'

export const EXECUTE = describeCall({
  id: 'execute',
  summary: 'Start a service',
  method: 'POST',
  route: '/flux-api/:package/execute',
  role: 'invoke',
  problems: [404, 409, 413, 415, 422],
  takesKey: true,
  // Callers in process may leave it out: their own package is searched first.
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
  internal: { untyped, waits, idempotencyKey },
  content: ['startState', 'input', 'tags', 'key'],
  strict: true,
  ...PREFERS_WAIT,
  answerHeaders: { ...PREFERS_WAIT.answerHeaders, ...REPLAYED_HEADER },
  answer: component(
    'Execution',
    z.object({
      message: text,
      contextId,
      started: z.boolean().meta({ description: 'False if the context already had the key', xsd: ADDED }),
      replaced: contextId
        .exactOptional()
        .meta({ description: 'The context that had the key, and was terminated in the same commit' }),
      context: contextField,
    }),
    { xml: RESPONSE },
  ),
  bodyExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
  answerExample: { message: "started 'ApprovalWithTimeout' as context 1", contextId: 1, started: true },
})

export type ExecuteRequest = RequestOf<typeof EXECUTE>
export type ExecuteAnswer = AnswerOf<typeof EXECUTE>
