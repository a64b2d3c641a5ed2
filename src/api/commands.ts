// api: the calls that start a context, and what can be done with one: by a call with one, by an operation with many.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { invalid } from '../model/failure.ts'
import type { JsonObject } from '../model/json/value.ts'
import { unknownErrors } from '../model/unknown-fields.ts'
import { type AnswerOf, component, describeCall, describeErrors, errorsOf } from './call.ts'
import { contextField } from './contexts.ts'
import { eventField } from './events.ts'
import {
  address,
  checkAddress,
  bodyTags,
  choice,
  contextId,
  contextKey,
  flag,
  idempotencyKey,
  input,
  messageAnswer,
  name,
  objectField,
  orNull,
  tags,
  text,
  untyped,
  waits,
} from './fields.ts'
import { assume, dryRun, version } from './rehearsal.ts'

/** The fields of a retry, of one context and of many. */
export const retryFields = {
  state: orNull(name('The state to enter, as by a transition. Default: the action of the state runs again')),
  input,
  definition: orNull(
    choice(['pinned', 'current']).describe(
      'The definition to continue with: the one of the context (default), or the one loaded now',
    ),
  ),
  newKey: orNull(flag('Whether the step gets a new stepKey')),
}

const texts = z.array(z.string('must be a text'), 'must be a list of texts')
const someTags = z.object({ tags: texts.min(1, 'must have at least one') })

/**
 * A command: the role that it takes, where a token is needed, and with contexts of secured services; and its fields.
 */
const command = <N extends string, W extends z.ZodObject>(name: N, role: Role, told: W) => ({
  role,
  schema: z.object({ do: z.literal(name), with: told }),
})

/** What can be done with contexts. Null: it is not available yet. */
export const COMMANDS = {
  event: command('event', 'invoke', z.object({ event: eventField, input })),
  terminate: command('terminate', 'invoke', z.object({})),
  tag: command('tag', 'invoke', someTags),
  untag: command('untag', 'invoke', someTags),
  retry: command('retry', 'admin', z.object(retryFields)),
  pause: command('pause', 'admin', z.object({})),
  resume: command('resume', 'admin', z.object({})),
  migrate: { role: 'admin', schema: null },
} as const

export type CommandName = keyof typeof COMMANDS
export const COMMAND_NAMES = z.object(COMMANDS).keyof().options

/** Something to do with each context. */
export type Command = z.output<NonNullable<(typeof COMMANDS)[CommandName]['schema']>>

export const withField = objectField(
  'Fields of the command: `{ event, input }` for event, `{ tags }` for tag and untag, the body of the call for retry; none for the others',
)

/**
 * Reads the command. Only the form of inputs and tags is checked.
 * @throws FluxError `invalid` when that can't be done, or lacks something
 */
export function readCommand(name: CommandName, given: JsonObject | null | undefined): Command {
  const { schema } = COMMANDS[name]
  if (schema === null)
    throw invalid(`'${name}' is not available yet`, [{ pointer: '/do', detail: 'is not available yet' }])
  const { success, data, error } = schema.safeParse({ do: name, with: given ?? {} })
  const known = new Map(Object.entries(schema.shape.with.shape))
  const unknown = unknownErrors(Object.keys(given ?? {}), known, '/with')
  if (success && unknown.length === 0) return data
  const errors = [...errorsOf(error?.issues ?? []), ...unknown]
  throw invalid(describeErrors(errors), errors)
}

/** For a call that does something with one context. */
const ofContext = {
  problems: [404, 409, 412, 429],
  query: { ...address(), dryRun },
  body: { assume },
  mayLackBody: true as const,
  bodyExample: { assume: { until: '2026-01-04' } },
  internal: { idempotencyKey, version },
  together: checkAddress,
  answer: messageAnswer,
}

/** For a call that needs the role `admin`. */
const ofSteering = { ...ofContext, method: 'POST', role: COMMANDS.pause.role } as const

const ofTags = {
  ...ofContext,
  ignoresUnknown: true,
  route: '/flux-api/context/tag',
  query: { ...ofContext.query, tag: tags('The tags. Repeat the parameter, or separate by commas') },
}

export const COMMAND_CALLS = {
  execute: describeCall({
    summary: 'Start a service',
    method: 'POST',
    route: '/flux-api/:package/execute',
    problems: [404, 409],
    // Callers in process may leave it out: their own package is searched first.
    query: { dryRun },
    path: {
      package: name('Name of a package: its folder')
        .meta({ examples: ['examples'] })
        .optional(),
    },
    body: {
      fluxName: name('Name of the service in its package'),
      startState: orNull(z.string('must be a text').describe('The state to start in, if not the usual one')),
      input,
      tags: bodyTags,
      key: orNull(
        contextKey(
          'Key of the context, unique among the unfinished contexts of the service; replaces the key that the service gives itself',
        ),
      ),
      existing: orNull(
        choice(['refuse', 'use', 'replace']).describe('What to do when the key is in use. Default: refuse'),
      ),
      assume,
    },
    internal: { untyped, waits, idempotencyKey },
    content: ['startState'],
    prefersWait: true,
    answer: component(
      'Execution',
      z.object({
        message: text,
        contextId,
        started: z.boolean().describe('False if the context already had the key'),
        replaced: contextId
          .exactOptional()
          .describe('The context that had the key, and was terminated in the same commit'),
        context: contextField,
      }),
      'response',
    ),
    bodyExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
    answerExample: { message: "started 'ApprovalWithTimeout' as context 1", contextId: 1, started: true },
  }),
  terminate: describeCall({
    ...ofContext,
    ignoresUnknown: true,
    summary: 'End a context at once',
    method: 'DELETE',
    route: '/flux-api/terminate',
    answerExample: { message: 'terminated context 1' },
  }),
  /**
   * Goes on with a context that failed or was terminated; while a step waits for its next attempt, makes it now.
   * @throws FluxError `conflict` when it can't be retried; `invalid`
   */
  retry: describeCall({
    ...ofSteering,
    summary: 'Continue a context that failed or was terminated; if a step waits for its next attempt, make it now',
    route: '/flux-api/context/retry',
    body: { ...retryFields, assume },
    internal: { ...ofContext.internal, untyped },
    answer: component('Retried', z.object({ message: text, contextId }), 'response'),
    bodyExample: { state: 'ChargeCard', input: { amount: 12 } },
    answerExample: { message: 'retried context 1', contextId: 1 },
  }),
  /** A paused context starts no step and takes no wake-up. It keeps the events that it is sent until it is resumed. */
  pause: describeCall({
    ...ofSteering,
    summary: 'Pause a context: it starts no step, takes no wake-up, and keeps the events that it is sent',
    route: '/flux-api/context/pause',
    answerExample: { message: 'paused context 1' },
  }),
  /** The context takes the events that it kept, then what is due. */
  resume: describeCall({
    ...ofSteering,
    summary: 'Resume a paused context: it takes the events that it kept, then what is due',
    route: '/flux-api/context/resume',
    answerExample: { message: 'resumed context 1' },
  }),
  addTags: describeCall({
    ...ofTags,
    summary: 'Add tags to a context',
    method: 'POST',
    alias: { id: 'putTags', method: 'PUT' },
    answerExample: { message: "added 'team-7' to context 1" },
  }),
  removeTags: describeCall({
    ...ofTags,
    summary: 'Remove tags from a context',
    method: 'DELETE',
    answerExample: { message: "removed 'team-7' from context 1" },
  }),
}

export type ExecuteAnswer = AnswerOf<typeof COMMAND_CALLS.execute>
