// api: shows one state of a context.
import { z } from 'zod'
import { address, checkAddress } from './address.ts'
import { describeCall, type AnswerOf, type RequestOf } from './call.ts'
import { component } from './component.ts'
import { model, name, object, text, time } from './fields.ts'

export const stateAnswer = component(
  'StateContext',
  z.object({
    name: text,
    input: model,
    output: model,
    transitionContexts: z.array(z.object({ event: text.nullable(), to: text, takenAt: time, values: object })),
  }),
  { xml: { name: 'stateContext' } },
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

export const GET_STATE = describeCall({
  id: 'getStateContext',
  summary: 'Show one state of a context',
  method: 'GET',
  route: '/flux-api/context/state',
  role: 'read',
  problems: [404, 409, 422],
  together: checkAddress,
  content: ['key'],
  query: { ...address(), stateName: name('Name of a state of the service') },
  answer: stateAnswer,
  answerExample: STATE_EXAMPLE,
})

export type GetStateRequest = RequestOf<typeof GET_STATE>
export type StateContextView = AnswerOf<typeof GET_STATE>
