// engine/calls: what makes each call, with a request that its description has let pass; and the methods made of it. HTTP and
// the `flux` argument of functions both use these.
import { check, type Call } from '../../api/call.ts'
import { METHODS, type CheckedCall, type FluxApi, type MethodName } from '../../api/calls.ts'
import { serverPaused } from '../../model/failure.ts'
import type { CallEnv } from './call-env.ts'
import { addTags, pause, removeTags, resume, retry, terminate } from './commands.ts'
import { countContexts } from './count-contexts.ts'
import { execute } from './execute.ts'
import { getContextEvents } from './get-context-events.ts'
import { getContext } from './get-context.ts'
import { getDefinition } from './get-definition.ts'
import { getEvent, stopEvent } from './get-event.ts'
import { getServiceSchema } from './get-service-schema.ts'
import { getMachine } from './get-machine.ts'
import { getStateContext } from './get-state.ts'
import { listPage } from './list-contexts.ts'
import { listDeliveriesPage } from './list-deliveries.ts'
import { listPendingPage } from './list-pending.ts'
import { listServices } from './list-services.ts'
import { listWebhooks } from './list-webhooks.ts'
import { getOperation, listOperations, stopOperation } from './operations.ts'
import { replayDelivery } from './replay-delivery.ts'
import { sendEvent } from './send-event.ts'
import { startOperation } from './start-operation.ts'
import { waitFor } from './wait-for.ts'
import { withdraw } from './withdraw.ts'

type Handlers = {
  readonly [Name in MethodName]: (
    env: CallEnv,
    request: CheckedCall<Name>,
    more: Parameters<FluxApi[Name]>[1],
  ) => ReturnType<FluxApi[Name]>
}

const HANDLERS: Handlers = {
  addTags,
  countContexts: (env, request, options) => countContexts(env, request, options?.signal ?? env.reads?.signal),
  execute,
  getContext,
  getContextEvents,
  getDefinition,
  getEvent,
  getMachine,
  getOperation,
  getServiceSchema,
  getStateContext,
  listContexts: async (env, request) => (await listPage(env, request)).contexts,
  listDeliveries: async (env, request) => (await listDeliveriesPage(env, request)).deliveries,
  listDeliveriesPage,
  listOperations,
  listPage,
  listPending: async (env, request) => (await listPendingPage(env, request)).events,
  listPendingPage,
  listServices,
  listWebhooks,
  pause,
  removeTags,
  replayDelivery,
  resume,
  retry,
  sendEvent: (env, request) => sendEvent(env, request),
  startOperation,
  stopEvent,
  stopOperation,
  terminate,
  waitFor: (env, request, options) => waitFor(env, request, options?.signal ?? env.reads?.signal),
  withdraw,
}

type AnyHandler = (env: CallEnv, request: unknown, more: unknown) => Promise<unknown>

const METHOD_LIST = Object.entries<Call>(METHODS).map(([name, call]) => {
  const handler: AnyHandler = Reflect.get(HANDLERS, name)
  // What is refused of an event is counted and logged, its form as well: `sendEvent` checks it.
  return { name, call, handler, isChecked: call !== METHODS.sendEvent }
})

/** The calls, bound to the caller and the permissions of their environment. */
export function methodsOf(env: CallEnv): FluxApi {
  const entries: unknown[][] = METHOD_LIST.map(({ name, call, handler, isChecked }) => [
    name,
    // No async function: it would create a promise more for each call.
    (request: unknown = {}, more?: unknown): Promise<unknown> => {
      try {
        if (env.gate.isClosed && call.role !== 'read') throw serverPaused()
        return handler(env, isChecked ? check(call, request) : request, more)
      } catch (error) {
        return Promise.reject(error)
      }
    },
  ])
  return Object.fromEntries(entries)
}
