// api: the calls that start a context, and what can be done with one: by a call with one, by an operation with many.
import { z } from 'zod'
import type { Role } from '../model/caller.ts'
import { invalid } from '../model/failure.ts'
import { type JsonObject, isObject } from '../model/json/value.ts'
import { unknownErrors } from '../model/unknown-fields.ts'
import { address, checkAddress } from './address.ts'
import { type AnswerOf, type RequestOf, describeCall, describeErrors, errorsOf } from './call.ts'
import { component } from './component.ts'
import { contextField, PREFERS_WAIT } from './contexts.ts'
import { eventField } from './events.ts'
import {
  ADDED,
  REPLAYED_HEADER,
  RESPONSE,
  bodyTags,
  contextId,
  contextKey,
  flag,
  idempotencyKey,
  input,
  messageAnswer,
  name,
  orNull,
  tags,
  text,
  untyped,
  waits,
} from './fields.ts'

/** What a retry may be told, of one context and of many. */
export const retryFields = {
  state: orNull(name('The state to enter, as by a transition; if left out, the action of the state runs again')),
  input: input(),
  definition: orNull(
    z
      .enum(['pinned', 'current'], { error: 'must be pinned or current' })
      .describe('The definition to go on with: that of the context (if left out), or the one loaded now'),
  ),
  newKey: orNull(flag('Whether the step gets another stepKey')),
}

/** All that can be asked for. */
export const COMMAND_NAMES = ['event', 'terminate', 'tag', 'untag', 'retry', 'pause', 'resume', 'migrate'] as const
export type CommandName = (typeof COMMAND_NAMES)[number]

const nothing = z.object({})
const texts = z.array(z.string({ error: 'must be a text' }), { error: 'must be a list of texts' })
const someTags = z.object({ tags: texts.min(1, { error: 'must have at least one' }) })

/**
 * What can be done with contexts: the role that it takes, where a token is needed, and with contexts of secured services;
 * and what it is told, null: it is not available yet.
 */
export const COMMANDS = {
  event: { role: 'invoke', with: z.object({ event: eventField, input: input() }) },
  terminate: { role: 'invoke', with: nothing },
  tag: { role: 'invoke', with: someTags },
  untag: { role: 'invoke', with: someTags },
  retry: { role: 'admin', with: z.object(retryFields) },
  pause: { role: 'admin', with: nothing },
  resume: { role: 'admin', with: nothing },
  migrate: { role: 'admin', with: null },
} as const satisfies { readonly [name in CommandName]: { readonly role: Role; readonly with: z.ZodObject | null } }

const command = z.discriminatedUnion('do', [
  z.object({ do: z.literal('event'), with: COMMANDS.event.with }),
  z.object({ do: z.literal('terminate'), with: COMMANDS.terminate.with }),
  z.object({ do: z.literal('tag'), with: COMMANDS.tag.with }),
  z.object({ do: z.literal('untag'), with: COMMANDS.untag.with }),
  z.object({ do: z.literal('retry'), with: COMMANDS.retry.with }),
  z.object({ do: z.literal('pause'), with: COMMANDS.pause.with }),
  z.object({ do: z.literal('resume'), with: COMMANDS.resume.with }),
])

/** Something to do with each context. */
export type Command = z.output<typeof command>

export const withField = orNull(
  z.custom<JsonObject>(isObject, { error: 'must be an object' }).meta({
    type: 'object',
    additionalProperties: true,
    description:
      'What it is done with: `{ event, input }` for event, `{ tags }` for tag and untag, what the call takes for retry; nothing for the others',
  }),
)

/**
 * What is to be done. Of inputs and tags, only the form is checked.
 * @throws FluxError `invalid` when that can't be done, or lacks something
 */
export function readCommand(name: CommandName, given: JsonObject | null | undefined): Command {
  const told = COMMANDS[name].with
  if (told === null)
    throw invalid(`'${name}' is not available yet`, [{ pointer: '/do', detail: 'is not available yet' }])
  const { success, data, error } = command.safeParse({ do: name, with: given ?? {} })
  const unknown = unknownErrors(Object.keys(given ?? {}), new Set(Object.keys(told.shape)), '/with')
  if (success && unknown.length === 0) return data
  const errors = [...errorsOf(error?.issues ?? []), ...unknown]
  throw invalid(describeErrors(errors), errors)
}

/** Of a call that does something with one context. */
const ofContext = {
  problems: [404, 409, 422, 429],
  takesKey: true,
  answerHeaders: REPLAYED_HEADER,
  query: address(),
  internal: { idempotencyKey },
  together: checkAddress,
  content: ['key'],
  answer: messageAnswer,
} as const

const ofTags = {
  ...ofContext,
  route: '/flux-api/context/tag',
  role: COMMANDS.tag.role,
  query: { ...address(), tag: tags('The tags. Repeat the parameter, or separate by commas') },
  content: ['tag', 'key'],
} as const

export const COMMAND_CALLS = {
  execute: describeCall({
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
      startState: orNull(z.string({ error: 'must be a text' }).describe('The first state, if not the usual one')),
      input: input(),
      tags: bodyTags(),
      key: orNull(
        contextKey('Unique among the unfinished contexts of the service, instead of the key that it gives itself'),
      ),
      existing: orNull(
        z
          .enum(['refuse', 'use', 'replace'], { error: 'must be refuse, use or replace' })
          .describe('What to do when the key is in use; refuse, if left out'),
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
          .describe('The context that had the key, and was terminated in the same commit'),
        context: contextField,
      }),
      { xml: RESPONSE },
    ),
    bodyExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
    answerExample: { message: "started 'ApprovalWithTimeout' as context 1", contextId: 1, started: true },
  }),
  terminate: describeCall({
    ...ofContext,
    summary: 'End a context at once',
    method: 'DELETE',
    route: '/flux-api/terminate',
    role: COMMANDS.terminate.role,
    answerExample: { message: 'terminated context 1' },
  }),
  /**
   * Goes on with a context that failed or was terminated; while a step waits for its next attempt, makes it now.
   * @throws FluxError `conflict` when it can't be retried; `invalid`
   */
  retry: describeCall({
    ...ofContext,
    summary: 'Go on with a context that failed or was terminated; while a step waits for its next attempt, make it now',
    method: 'POST',
    route: '/flux-api/context/retry',
    role: COMMANDS.retry.role,
    problems: [404, 409, 413, 415, 422, 429],
    body: retryFields,
    internal: { untyped, idempotencyKey },
    content: ['state', 'input', 'key'],
    strict: true,
    answer: component('Retried', z.object({ message: text, contextId }), { xml: RESPONSE }),
    mayLackBody: true,
    bodyExample: { state: 'ChargeCard', input: { amount: 12 } },
    answerExample: { message: 'retried context 1', contextId: 1 },
  }),
  /** A paused context starts no step and takes no wake-up. It keeps the events that it is sent until it is resumed. */
  pause: describeCall({
    ...ofContext,
    summary: 'Pause a context: it starts no step, takes no wake-up, and keeps the events that it is sent',
    method: 'POST',
    route: '/flux-api/context/pause',
    role: COMMANDS.pause.role,
    strict: true,
    answerExample: { message: 'paused context 1' },
  }),
  /** The context takes the events that it kept, then what is due. */
  resume: describeCall({
    ...ofContext,
    summary: 'Resume a paused context: it takes the events that it kept, then what is due',
    method: 'POST',
    route: '/flux-api/context/resume',
    role: COMMANDS.resume.role,
    strict: true,
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

export type RetryRequest = RequestOf<typeof COMMAND_CALLS.retry>
export type RetryAnswer = AnswerOf<typeof COMMAND_CALLS.retry>
export type ExecuteAnswer = AnswerOf<typeof COMMAND_CALLS.execute>
