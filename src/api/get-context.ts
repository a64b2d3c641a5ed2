// api: shows a context.
import { z } from 'zod'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { RETRY_EVENT } from '../model/record.ts'
import { address, checkAddress } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { ADDED, contextId, data, flag, model, object, text, time } from './fields.ts'
import { emptyModel, STATE_EXAMPLE, stateAnswer } from './get-state.ts'
import { pendingView } from './list-pending.ts'

const error = component(
  'FluxException',
  z.object({
    message: text,
    type: text.meta({ description: 'The name of the error' }),
    className: text,
    realException: data,
    fluxStackTrace: z.array(
      z.object({ fluxName: text, stateName: text, transition: text.nullable(), stateIndex: z.number().int() }),
    ),
    stack: text
      .meta({ description: 'Stack frames in the sources of the package, if a function or a script threw the error' })
      .exactOptional(),
  }),
  { xsd: { type: 'error' } },
)

const step = component(
  'Step',
  z.object({
    state: text,
    kind: z.enum(['invokeCode', 'script', 'invokeFlux']).meta({ xsd: { type: 'stepKind' } }),
    className: text.nullable(),
    methodName: text.nullable(),
    attempt: z
      .number()
      .int()
      .meta({ description: 'Number of the current attempt or, between two attempts, of the next one' }),
    maxAttempts: z.number().int(),
    startedAt: time
      .nullable()
      .meta({ description: 'Epoch milliseconds; null between two attempts, and while the step waits for a free slot' }),
    timeoutAt: time.nullable(),
    nextAttemptAt: time.nullable(),
    stepKey: text,
    server: text.nullable().meta({
      description:
        'Run id of the server that runs the step; null between two attempts, and while the step waits for a free slot',
    }),
    lastError: z.object({ type: text, message: text, at: time, stack: text.nullable() }).nullable(),
  }),
  { description: 'A function, script or child that is running, or that will be tried again' },
)

const relative = z.object({
  contextId,
  fluxName: text.nullable().meta({ description: 'null: the caller may not see it, or it is not kept any more' }),
  state: text.nullable(),
})

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
    status: z.enum(CONTEXT_STATUSES).meta({ xsd: { type: 'status' } }),
    input: model,
    output: model,
    tags: z.array(text),
    stateContexts: z.array(stateAnswer),
    executionHistory: z.array(
      z.object({
        fluxName: text,
        stateName: text,
        stateIndex: z.number().int().meta({ description: 'Negative: the definition no longer has the state' }),
        event: z
          .literal(RETRY_EVENT)
          .exactOptional()
          .meta({ description: 'The context was retried, and went on here' }),
        enteredAt: time,
      }),
    ),
    package: text,
    version: z.number().int(),
    startedAt: time,
    updatedAt: time,
    endedAt: time.nullable(),
    error: error.nullable(),
    definition: text.meta({ description: 'Content hash of the definition that the context was started with' }),
    step: step.nullable(),
    parent: relative.nullable().meta({ description: 'The context that started this one and waits for it', xsd: ADDED }),
    child: relative.nullable().meta({ description: 'The context that this one waits for', xsd: ADDED }),
    lastEvent: z
      .object({ event: text, at: time, eventId: text })
      .nullable()
      .meta({ description: 'The last event that it took; null: none yet', xsd: ADDED }),
    pending: z.array(pendingView).meta({ description: 'Events that it keeps until it waits for them', xsd: ADDED }),
    forkedFrom: contextId.nullable().meta({ description: 'Reserved: null', xsd: ADDED }),
    paused: z
      .boolean()
      .meta({ description: 'Whether it is paused: it starts no step, and takes no event and no wake-up', xsd: ADDED }),
    key: text.nullable().meta({ description: 'The key of the context, if it has one', xsd: ADDED }),
    snapshot: object.exactOptional(),
  }),
  { xml: { name: 'context' } },
)

/** Of an answer that `Prefer: wait` has held. */
export const contextField = contextAnswer
  .exactOptional()
  .meta({ description: 'With Prefer: wait, the context that was moved or started, as it is' })

/** Of calls that `Prefer: wait` may hold. */
export const PREFERS_WAIT = {
  prefersWait: true,
  answerHeaders: { 'Preference-Applied': 'wait, where the answer was held until the context rests' },
} as const

export type ContextView = z.output<typeof contextAnswer>
export type RelativeView = z.output<typeof relative>
export type StepView = z.output<typeof step>
export type ErrorView = z.output<typeof error>

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

export const GET_CONTEXT = describeCall({
  id: 'getContext',
  summary: 'Show a context',
  method: 'GET',
  route: '/flux-api/context',
  role: 'read',
  problems: [404, 409, 422],
  together: checkAddress,
  content: ['key'],
  query: { ...address(), snapshot: flag('true: with the persisted XState snapshot').default(false) },
  answer: contextAnswer,
  answerExample: CONTEXT_EXAMPLE,
})

export type GetContextRequest = RequestOf<typeof GET_CONTEXT>
