// http: what the calls answer, as schemas; `xml` tells the root. Later versions may answer more fields, and clients are to expect that. They describe the API and are held against real answers in the tests; the runtime's own answers aren't checked again.
import { z } from 'zod'
import type { EventAnswer, ExecuteAnswer, MessageAnswer } from '../../model/calls.ts'
import { STATUSES, type ContextView, type ErrorView, type ModelDescriptor, type StateContextView, type StepView } from '../../model/context.ts'
import type { Json, JsonObject } from '../../model/json.ts'
import { PROBLEM_NAMESPACE } from '../formats/xml/encode.ts'

const text = z.string()
const time = z.number().int().meta({ description: 'Epoch milliseconds' })
const contextId = z.number().int().positive()
const data = z.custom<Json>().meta({ description: 'Any JSON' })
const object = z.custom<JsonObject>().meta({ type: 'object', additionalProperties: true })

const RESPONSE = { name: 'response' }

const stand = z.looseObject({ contextId, state: text })

export const messageAnswer = z.looseObject({ message: text }).meta({ ref: 'Message', xml: RESPONSE }) satisfies z.ZodType<MessageAnswer>

export const executeAnswer = z.looseObject({ message: text, contextId }).meta({ ref: 'Execution', xml: RESPONSE }) satisfies z.ZodType<ExecuteAnswer>

export const eventAnswer = z.looseObject({
  message: text,
  transitions: z.array(stand).meta({ description: 'Whom the event moved' }),
  executions: z.array(stand).meta({ description: 'Whom the event started' }),
  ignored: z.array(z.looseObject({ contextId: contextId.nullable(), fluxName: text, state: text.nullable(), reason: text }))
    .meta({ description: 'Whom it was for and could not move or start; contextId and state are null for a start' }),
  hint: text.exactOptional().meta({ description: 'That no service knows the event, and which one was meant, most likely' }),
}).meta({ ref: 'EventResult', xml: RESPONSE }) satisfies z.ZodType<EventAnswer>

const model = z.looseObject({
  name: text,
  type: z.literal('model'),
  allowExtraProperties: z.boolean(),
  gloopProperties: z.array(object).meta({ description: 'The properties as declared, each with its value' }),
}).meta({ ref: 'Model' }) satisfies z.ZodType<ModelDescriptor>

export const stateAnswer = z.looseObject({
  name: text,
  input: model,
  output: model,
  transitionContexts: z.array(z.looseObject({ event: text.nullable(), to: text, takenAt: time, values: object })),
}).meta({ ref: 'StateContext', xml: { name: 'stateContext' } }) satisfies z.ZodType<StateContextView>

const error = z.looseObject({
  message: text,
  type: text,
  className: text,
  realException: data,
  fluxStackTrace: z.array(z.looseObject({ fluxName: text, stateName: text, transition: text.nullable(), stateIndex: z.number().int() })),
  stack: text.meta({ description: 'Where in the sources of the package it arose, if a function or a script threw it' }).exactOptional(),
}).meta({ ref: 'FluxException' }) satisfies z.ZodType<ErrorView>

const step = z.looseObject({
  state: text,
  kind: z.enum(['invokeCode', 'script', 'invokeFlux']),
  className: text.nullable(),
  methodName: text.nullable(),
  attempt: z.number().int().meta({ description: 'The one under way, or in a pause the one that comes next' }),
  maxAttempts: z.number().int(),
  startedAt: time.nullable().meta({ description: 'Epoch milliseconds; null in a pause, and while it waits for a free slot' }),
  timeoutAt: time.nullable(),
  nextAttemptAt: time.nullable(),
  stepKey: text,
  server: text.nullable().meta({ description: 'Run id of the server that has it' }),
  lastError: z.looseObject({ type: text, message: text, at: time, stack: text.nullable() }).nullable(),
}).meta({ ref: 'Step', description: 'A function, script or child that is under way, or about to be tried again' }) satisfies z.ZodType<StepView>

export const contextAnswer = z.looseObject({
  fluxName: text,
  id: contextId,
  currentState: text,
  startState: text,
  waiting: z.boolean(),
  debugged: z.literal(false),
  nextRun: time.nullable(),
  status: z.enum(STATUSES),
  input: model,
  output: model,
  tags: z.array(text),
  stateContexts: z.array(stateAnswer),
  executionHistory: z.array(z.looseObject({ fluxName: text, stateName: text, stateIndex: z.number().int(), enteredAt: time })),
  package: text,
  version: z.number().int(),
  startedAt: time,
  updatedAt: time,
  endedAt: time.nullable(),
  error: error.nullable(),
  definition: text.meta({ description: 'Content hash of the definition that the context was started with' }),
  step: step.nullable(),
  snapshot: object.exactOptional(),
}).meta({ ref: 'Context', xml: { name: 'context' } }) satisfies z.ZodType<ContextView>

export const contextsAnswer = z.array(contextAnswer).meta({ ref: 'Contexts', xml: { name: 'contexts' } })

export const definitionAnswer = object.meta({ ref: 'Definition', xml: { name: 'definition' }, description: 'The file of the service' })

export const problemAnswer = z.looseObject({
  type: text,
  title: text,
  status: z.number().int(),
  detail: text,
  instance: text.optional(),
  errors: z.array(z.looseObject({ pointer: text, detail: text })).optional(),
  contextId: contextId.optional().meta({ description: 'Of a webhook: the context that it started' }),
  hint: text.optional().meta({ description: 'That no service knows the event that was sent' }),
}).meta({ ref: 'Problem', xml: { name: 'problem', namespace: PROBLEM_NAMESPACE }, description: 'RFC 9457' })
