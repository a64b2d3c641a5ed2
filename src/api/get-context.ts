// api: shows a context.
import { z } from 'zod'
import { CONTEXT_STATUSES } from '../model/context.ts'
import { describeCall, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { contextId, data, flag, id, model, object, text, time } from './fields.ts'
import { emptyModel, STATE_EXAMPLE, stateAnswer } from './get-state.ts'

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
      z.object({ fluxName: text, stateName: text, stateIndex: z.number().int(), enteredAt: time }),
    ),
    package: text,
    version: z.number().int(),
    startedAt: time,
    updatedAt: time,
    endedAt: time.nullable(),
    error: error.nullable(),
    definition: text.meta({ description: 'Content hash of the definition that the context was started with' }),
    step: step.nullable(),
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
}

export const GET_CONTEXT = describeCall({
  id: 'getContext',
  summary: 'Show a context',
  method: 'GET',
  route: '/flux-api/context',
  role: 'read',
  problems: [404],
  query: { contextId: id(), snapshot: flag('true: with the persisted XState snapshot').default(false) },
  answer: contextAnswer,
  answerExample: CONTEXT_EXAMPLE,
})

export type GetContextRequest = RequestOf<typeof GET_CONTEXT>
