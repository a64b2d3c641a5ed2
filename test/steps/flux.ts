// What a function is called with, when only the call itself is looked at.
import { unavailable } from '../../src/model/failure.ts'
import type { StepFlux } from '../../src/ports/step-runner.ts'

export const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }
const refuse = () => Promise.reject(unavailable('not here'))

export const flux: StepFlux = {
  contextId: 7,
  fluxName: 'S',
  stateName: 'a',
  stepKey: '7-1',
  messageId: async () => 'msg_store_7-1',
  attempt: 1,
  signal: new AbortController().signal,
  rawBody: null,
  log: quiet,
  execute: refuse,
  terminate: refuse,
  sendEvent: refuse,
  getEvent: refuse,
  listPending: refuse,
  listPendingPage: refuse,
  withdraw: refuse,
  stopEvent: refuse,
  listContexts: refuse,
  countContexts: refuse,
  listPage: refuse,
  getContext: refuse,
  getStateContext: refuse,
  waitFor: refuse,
  getContextEvents: refuse,
  addTags: refuse,
  removeTags: refuse,
  getDefinition: refuse,
  getServiceSchema: refuse,
  listServices: refuse,
  getMachine: refuse,
  listWebhooks: refuse,
  listDeliveries: refuse,
  listDeliveriesPage: refuse,
  replayDelivery: refuse,
  startOperation: refuse,
  getOperation: refuse,
  listOperations: refuse,
  stopOperation: refuse,
}
