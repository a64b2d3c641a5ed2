// http: the calls under /flux-api, described once: who may make them, what they take, what they answer. The routes and the OpenAPI document are made from this.
import type { z } from 'zod'
import type { Role } from '../../model/caller.ts'
import { contextAnswer, contextsAnswer, definitionAnswer, eventAnswer, executeAnswer, messageAnswer, stateAnswer } from './answers.ts'
import {
  contextQuery, definitionQuery, eventBody, eventQuery, executeBody, listQuery, packagePath, stateQuery, tagQuery, viewQuery, type Shape,
} from './schemas.ts'
import type { Root } from '../formats/xml/encode.ts'

export interface Operation {
  readonly id: string
  readonly summary: string
  /** Needed for what is secured. */
  readonly role: Role
  /** What XML calls the answer. */
  readonly root: Root
  readonly path?: Shape<object>
  readonly query?: Shape<object>
  readonly body?: Shape<object>
  readonly bodyExample?: object
  readonly answer: z.ZodType
  readonly answerExample: unknown
  /** Names of headers that the answer may have, and what they say. */
  readonly answerHeaders?: { readonly [name: string]: string }
  /** Statuses of the problems that it may meet, besides those that any call may. */
  readonly problems: readonly number[]
}

const nothing = (name: string) => ({ name, type: 'model', allowExtraProperties: false, gloopProperties: [] })

const STATE_EXAMPLE = {
  name: 'WaitForDecision',
  input: { name: 'input', type: 'model', allowExtraProperties: false, gloopProperties: [{ name: 'by', type: 'string', value: null }] },
  output: nothing('output'),
  transitionContexts: [],
}

const CONTEXT_EXAMPLE = {
  fluxName: 'ApprovalWithTimeout', id: 1, currentState: 'WaitForDecision', startState: 'WaitForDecision', waiting: true, debugged: false, nextRun: 1795222000000, status: 'WAITING_UNTIL',
  input: { name: 'input', type: 'model', allowExtraProperties: false, gloopProperties: [{ name: 'request', type: 'string', value: 'a day off' }] },
  output: nothing('output'), tags: ['team-7'], stateContexts: [STATE_EXAMPLE],
  executionHistory: [{ fluxName: 'ApprovalWithTimeout', stateName: 'WaitForDecision', stateIndex: 0, enteredAt: 1795221900000 }],
  package: 'examples', version: 1, startedAt: 1795221900000, updatedAt: 1795221900000, endedAt: null, error: null, definition: 'Zm9vYmFy', step: null,
}

export const EXECUTE: Operation = {
  id: 'execute', summary: 'Start a service', role: 'invoke', root: 'response', path: packagePath, body: executeBody, answer: executeAnswer, problems: [404, 413, 415, 422],
  bodyExample: { fluxName: 'ApprovalWithTimeout', input: { request: 'a day off' }, tags: ['team-7'] },
  answerExample: { message: 'started \'ApprovalWithTimeout\' as context 1', contextId: 1 },
}

export const SEND_EVENT: Operation = {
  id: 'sendEvent', summary: 'Send an event to one context, or to all that wait for it', role: 'invoke', root: 'response', query: eventQuery, body: eventBody, answer: eventAnswer,
  problems: [404, 409, 413, 415, 422, 429],
  bodyExample: { event: 'approve', input: { by: 'Ada' }, tags: ['team-7'] },
  answerExample: { message: '\'approve\': moved 1, started 0, ignored by 0', transitions: [{ contextId: 1, state: 'Approved' }], executions: [], ignored: [] },
}

export const TERMINATE: Operation = {
  id: 'terminate', summary: 'End a context at once', role: 'invoke', root: 'response', query: contextQuery, answer: messageAnswer, problems: [404, 409, 429],
  answerExample: { message: 'terminated context 1' },
}

export const LIST_CONTEXTS: Operation = {
  id: 'listContexts', summary: 'List contexts by ascending id; the Link header leads on', role: 'read', root: 'contexts', query: listQuery, answer: contextsAnswer,
  problems: [422], answerExample: [CONTEXT_EXAMPLE], answerHeaders: { Link: 'The next page, with rel="next"; none on the last one' },
}

export const GET_CONTEXT: Operation = {
  id: 'getContext', summary: 'Show a context', role: 'read', root: 'context', query: viewQuery, answer: contextAnswer, problems: [404], answerExample: CONTEXT_EXAMPLE,
}

export const GET_STATE: Operation = {
  id: 'getStateContext', summary: 'Show one state of a context', role: 'read', root: 'stateContext', query: stateQuery, answer: stateAnswer, problems: [404],
  answerExample: STATE_EXAMPLE,
}

export const ADD_TAGS: Operation = {
  id: 'addTags', summary: 'Add tags to a context', role: 'invoke', root: 'response', query: tagQuery, answer: messageAnswer, problems: [404, 409, 422, 429],
  answerExample: { message: 'added \'team-7\' to context 1' },
}

export const REMOVE_TAGS: Operation = {
  ...ADD_TAGS, id: 'removeTags', summary: 'Remove tags from a context', answerExample: { message: 'removed \'team-7\' from context 1' },
}

export const GET_DEFINITION: Operation = {
  id: 'getDefinition', summary: 'Show the definition of a service, or the one that a context was started with', role: 'read', root: 'definition', query: definitionQuery,
  answer: definitionAnswer, problems: [404, 409], answerExample: { states: [{ name: 'WaitForDecision', waiting: true, transitions: [{ event: 'approve', to: 'Approved' }] }, { name: 'Approved' }] },
}
