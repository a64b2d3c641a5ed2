// engine: what makes each call, with a request that its description has let pass. HTTP hands on what
// it has checked itself; for the methods in process the request is checked here.
import { check, type Call } from '../api/call.ts'
import {
  METHODS,
  type AnswerTo,
  type Calls,
  type CheckedCall,
  type MethodName,
  type MoreOf,
  type Told,
} from '../api/calls.ts'
import { malformed, serverPaused } from '../model/failure.ts'
import type { CallEnv } from './calls/call-env.ts'
import { addTags, execute, pause, removeTags, resume, retry, terminate } from './calls/commands.ts'
import { countContexts, listPage } from './calls/context-lists.ts'
import { getContext, getContextEvents, getStateContext, waitFor } from './calls/contexts.ts'
import { getEvent, listPendingPage, stopEvent, withdraw } from './calls/events.ts'
import { listDeliveriesPage, listWebhooks } from './calls/list-deliveries.ts'
import { getOperation, listOperations, startOperation, stopOperation } from './calls/operations.ts'
import { rehearse } from './calls/rehearse.ts'
import { replayDelivery } from './webhooks/replay.ts'
import { sendEvent } from './calls/send-event.ts'
import { getDefinition, getMachine, getServiceSchema, listServices } from './calls/services.ts'

/** `T`: what it resolves with. */
type Handler<Name extends MethodName, T> = (env: CallEnv, request: CheckedCall<Name>, more?: MoreOf<Name>) => Promise<T>

/** Calls that take a key. */
const KEYED = {
  addTags,
  execute,
  pause,
  removeTags,
  resume,
  retry,
  sendEvent: (env, request, more) => sendEvent(env, request, { onPlaced: more?.onPlaced }),
  terminate,
} satisfies { readonly [Name in MethodName]?: Handler<Name, Told<AnswerTo<Name>>> }

/** For calls that take no key: the answer alone. */
const PLAIN: { readonly [Name in Exclude<MethodName, keyof typeof KEYED>]: Handler<Name, AnswerTo<Name>> } = {
  countContexts: (env, request, options) => countContexts(env, request, options?.signal ?? env.reads?.signal),
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
  replayDelivery,
  startOperation,
  stopEvent,
  stopOperation,
  waitFor: (env, request, options) => waitFor(env, request, options?.signal ?? env.reads?.signal),
  withdraw,
}

const told: unknown[][] = Object.entries(PLAIN).map(([name, run]) => [
  name,
  async (...given: unknown[]) => ({ answer: await Reflect.apply(run, null, given) }),
])
const HANDLERS: { readonly [Name in MethodName]: Handler<Name, Told<AnswerTo<Name>>> } = {
  ...KEYED,
  ...Object.fromEntries(told),
}

const isMethod = (name: string): name is MethodName => Object.hasOwn(METHODS, name)

/** The calls, bound to the caller and the permissions of their environment. */
export function callsOf(env: CallEnv): Calls {
  // No async functions: they would create a promise more for each call.
  const call: Calls['call'] = (name, request, more) => {
    if (env.gate.isClosed && METHODS[name].role !== 'read') return Promise.reject(serverPaused())
    const assume = 'assume' in request ? request.assume : null
    if ('dryRun' in request && request.dryRun === true)
      return rehearse(env, assume ?? {}, (dry) => HANDLERS[name](dry, request))
    if (assume != null) return Promise.reject(malformed('assume must be given with dryRun'))
    return HANDLERS[name](env, request, more)
  }
  return {
    call,
    ask(name, request, more) {
      try {
        if (!isMethod(name)) throw new TypeError(`there is no call ${name}`)
        const method: Call = METHODS[name]
        return Reflect.apply(call, null, [name, check(method, request), more])
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
}
