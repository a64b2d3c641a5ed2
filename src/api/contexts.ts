// api: the calls that show a context, and wait for it.
import { z } from 'zod'
import { CONTEXT_STATUSES, RETRY_EVENT, type Status } from '../model/context.ts'
import { type AnswerOf, component, describeCall } from './call.ts'
import {
  address,
  checkAddress,
  choice,
  contextId,
  countField,
  data,
  flag,
  integer,
  model,
  name,
  object,
  repeated,
  tags,
  text,
  time,
} from './fields.ts'
import { jsonSchema } from './services.ts'

export const stateAnswer = component(
  'StateContext',
  z.object({
    name: text,
    input: model,
    output: model,
    transitionContexts: z.array(z.object({ event: text.nullable(), to: text, takenAt: time, values: object })),
  }),
  'stateContext',
)

export const emptyModel = (called: string) => ({
  name: called,
  type: 'model' as const,
  allowExtraProperties: false,
  gloopProperties: [],
})

export const STATE_EXAMPLE: z.output<typeof stateAnswer> = {
  name: 'WaitForDecision',
  input: { ...emptyModel('input'), gloopProperties: [{ name: 'by', type: 'string', value: null }] },
  output: emptyModel('output'),
  transitionContexts: [],
}

const error = component(
  'FluxException',
  z.object({
    message: text,
    type: text.describe('The name of the error'),
    className: text,
    realException: data,
    fluxStackTrace: z.array(
      z.object({ fluxName: text, stateName: text, transition: text.nullable(), stateIndex: integer }),
    ),
    stack: text
      .describe('Stack frames in the sources of the package, if a function or a script threw the error')
      .exactOptional(),
  }),
)

const step = component(
  'Step',
  z.object({
    state: text,
    kind: z.enum(['invokeCode', 'script', 'invokeFlux']),
    className: text.nullable(),
    methodName: text.nullable(),
    attempt: integer.describe('Number of the current attempt or, between two attempts, of the next one'),
    maxAttempts: integer,
    startedAt: time
      .nullable()
      .describe('Epoch milliseconds; null between two attempts, and while the step waits for a free slot'),
    timeoutAt: time.nullable(),
    nextAttemptAt: time.nullable(),
    stepKey: text,
    server: text
      .nullable()
      .describe(
        'Run id of the server that runs the step; null between two attempts, and while the step waits for a free slot',
      ),
    lastError: z.object({ type: text, message: text, at: time, stack: text.nullable() }).nullable(),
  }),
  { description: 'A function, script or child that is running, or that will be tried again' },
)

const status = z.enum(CONTEXT_STATUSES)

const relative = z.object({
  contextId,
  fluxName: text.nullable().describe('null: the caller may not see it, or it is not kept any more'),
  state: text.nullable(),
})

export const pendingView = component(
  'PendingEvent',
  z.object({
    eventId: text,
    event: text,
    contextId: contextId.nullable().describe('The context that keeps it; null: it is for the first that waits for it'),
    fluxName: text.nullable(),
    tags: z.array(text),
    receivedAt: time,
    expiresAt: time.nullable().describe('Epoch milliseconds; null: when the context ends'),
  }),
)

export const contextAnswer = component(
  'Context',
  z.object({
    fluxName: text,
    id: contextId,
    currentState: text,
    startState: text,
    waiting: z.boolean(),
    debugged: z.literal(false),
    nextRun: time.nullable(),
    status,
    input: model,
    output: model,
    tags: z.array(text),
    stateContexts: z.array(stateAnswer),
    executionHistory: z.array(
      z.object({
        fluxName: text,
        stateName: text,
        stateIndex: integer.describe('Negative: the definition no longer has the state'),
        event: z.literal(RETRY_EVENT).exactOptional().describe('The context was retried, and continued here'),
        enteredAt: time,
      }),
    ),
    package: text,
    version: integer,
    startedAt: time,
    updatedAt: time,
    endedAt: time.nullable(),
    error: error.nullable(),
    definition: text.describe('Content hash of the definition that the context was started with'),
    step: step.nullable(),
    parent: relative.nullable().describe('The context that started this one and waits for it'),
    child: relative.nullable().describe('The context that this one waits for'),
    lastEvent: z
      .object({ event: text, at: time, eventId: text })
      .nullable()
      .describe('The last event that the context took; null: none yet'),
    pending: z.array(pendingView).describe('Events that the context keeps until it waits for them'),
    forkedFrom: contextId.nullable().describe('Reserved: null'),
    paused: z.boolean().describe('Whether the context is paused: it starts no step, and takes no event and no wake-up'),
    key: text.nullable().describe('The key of the context, if it has one'),
    snapshot: object.exactOptional(),
  }),
  'context',
)

/** Part of an answer that `Prefer: wait` has held. */
export const contextField = contextAnswer
  .exactOptional()
  .describe('With Prefer: wait, the context that was moved or started, as it is')

export type ContextView = z.output<typeof contextAnswer>
export type RelativeView = z.output<typeof relative>

export const CONTEXT_EXAMPLE: ContextView = {
  fluxName: 'ApprovalWithTimeout',
  id: 1,
  currentState: 'WaitForDecision',
  startState: 'WaitForDecision',
  waiting: true,
  debugged: false,
  nextRun: 1795222000000,
  status: 'WAITING_UNTIL',
  input: { ...emptyModel('input'), gloopProperties: [{ name: 'request', type: 'string', value: 'a day off' }] },
  output: emptyModel('output'),
  tags: ['team-7'],
  stateContexts: [STATE_EXAMPLE],
  executionHistory: [
    { fluxName: 'ApprovalWithTimeout', stateName: 'WaitForDecision', stateIndex: 0, enteredAt: 1795221900000 },
  ],
  package: 'examples',
  version: 1,
  startedAt: 1795221900000,
  updatedAt: 1795221900000,
  endedAt: null,
  error: null,
  definition: 'Zm9vYmFy',
  step: null,
  parent: null,
  child: null,
  lastEvent: null,
  pending: [],
  forkedFrom: null,
  paused: false,
  key: null,
}

const DEFAULT_TIMEOUT_SECONDS = 30
/** A request is never held longer. */
export const MAX_TIMEOUT_SECONDS = 300

/** The statuses of a context that rests: it waits, or has ended. */
export const AT_REST: readonly Status[] = CONTEXT_STATUSES.filter((status) => status !== 'RUNNING')

/** For a call that shows one context. */
const ofContext = { ignoresUnknown: true, problems: [404, 409], query: address(), together: checkAddress }

export const CONTEXT_CALLS = {
  getStateContext: describeCall({
    ...ofContext,
    summary: 'Show one state of a context',
    route: '/flux-api/context/state',
    query: { ...address(), stateName: name('Name of a state of the service') },
    answer: stateAnswer,
    answerExample: STATE_EXAMPLE,
  }),
  getContext: describeCall({
    ...ofContext,
    summary: 'Show a context',
    route: '/flux-api/context',
    query: { ...address(), snapshot: flag('true: with the persisted XState snapshot').default(false) },
    answer: contextAnswer,
    answerExample: CONTEXT_EXAMPLE,
  }),
  /** Which events the context can take now, and what happens if none comes. If it has ended, the lists are empty. */
  getContextEvents: describeCall({
    ...ofContext,
    summary: 'Show which events a context can take now',
    route: '/flux-api/context/events',
    answer: component(
      'ContextEvents',
      z.object({
        contextId,
        state: text,
        status,
        events: z
          .array(z.object({ event: text, to: text, input: jsonSchema }))
          .describe('The events that the context can take now, and the state that follows'),
        else: jsonSchema
          .nullable()
          .describe('Schema of the input of any other event, if the state takes any; else null'),
        timed: z
          .object({ at: time, to: text, event: text.nullable() })
          .nullable()
          .describe('The next state, and when, if no event comes; null: there is no time limit'),
        others: z
          .array(z.object({ event: text, states: z.array(text), reason: text }))
          .describe('The other events of the definition, the states that name them, and why they are not taken now'),
        paused: z.literal(true).exactOptional().describe('Events are kept until the context is resumed'),
      }),
      'contextEvents',
    ),
    answerExample: {
      contextId: 1,
      state: 'WaitForDecision',
      status: 'WAITING_UNTIL',
      events: [
        {
          event: 'approve',
          to: 'Approved',
          input: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: { by: { type: ['string', 'null'] } },
            required: ['by'],
          },
        },
      ],
      else: null,
      timed: { at: 1795222000000, to: 'TimedOut', event: null },
      others: [{ event: 'appeal', states: ['Rejected'], reason: 'is taken in Rejected' }],
    },
  }),
  waitFor: describeCall({
    ...ofContext,
    summary: 'Wait until a context has a status, enters a state or has a tag: any of those named',
    route: '/flux-api/context/wait',
    ignoresUnknown: false,
    problems: [404, 409, 504],
    query: {
      ...address(),
      status: z
        .array(choice(CONTEXT_STATUSES), 'must be a list of texts')
        .readonly()
        .describe('A status to wait for. Repeat the parameter, or separate by commas')
        .optional(),
      state: repeated('A state to wait for: the context is in it, or has entered it. Repeat the parameter'),
      tag: tags('A tag to wait for. Repeat the parameter, or separate by commas').optional(),
      timeout: countField(0, `Seconds, at most ${MAX_TIMEOUT_SECONDS}. Default: ${DEFAULT_TIMEOUT_SECONDS}`)
        .transform((seconds) => Math.min(seconds, MAX_TIMEOUT_SECONDS))
        .default(DEFAULT_TIMEOUT_SECONDS),
    },
    content: ['status'],
    answer: contextAnswer,
    answerExample: CONTEXT_EXAMPLE,
  }),
}

export type StateContextView = AnswerOf<typeof CONTEXT_CALLS.getStateContext>
export type ContextEventsView = AnswerOf<typeof CONTEXT_CALLS.getContextEvents>
