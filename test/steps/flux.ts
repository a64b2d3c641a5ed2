// What a function is called with, when only the call itself is looked at.
import { METHODS, type FluxApi } from '../../src/api/calls.ts'
import { unavailable } from '../../src/model/failure.ts'
import type { StepFlux } from '../../src/ports/steps.ts'
import { silent } from '../support/silent.ts'

const refuse = () => Promise.reject(unavailable('not here'))

const entries: unknown[][] = Object.keys(METHODS).map((name) => [name, refuse])
const calls: FluxApi = Object.fromEntries(entries)

export const flux: StepFlux = {
  contextId: 7,
  fluxName: 'S',
  stateName: 'a',
  stepKey: '7-1',
  messageId: async () => 'msg_store_7-1',
  attempt: 1,
  signal: new AbortController().signal,
  rawBody: null,
  log: silent,
  ...calls,
}
