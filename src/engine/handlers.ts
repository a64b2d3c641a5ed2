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
import { serverPaused } from '../model/failure.ts'
import type { CallEnv } from './calls/call-env.ts'
import { addTags, execute, pause, removeTags, resume, retry, terminate } from './calls/commands.ts'
import { countContexts, listPage } from './calls/context-lists.ts'
import { getContext, getContextEvents, getStateContext, waitFor } from './calls/contexts.ts'
import { getEvent, listPendingPage, stopEvent, withdraw } from './calls/events.ts'
import { listDeliveriesPage, listWebhooks } from './calls/list-deliveries.ts'
import { getOperation, listOperations, startOperation, stopOperation } from './calls/operations.ts'
import { replayDelivery } from './webhooks/replay.ts'
import { sendEvent } from './calls/send-event.ts'
import { getDefinition, getMachine, getServiceSchema, listServices } from './calls/services.ts'

/** `T`: what it resolves with. */
type Handler<Name extends MethodName, T> = (env: CallEnv, request: CheckedCall<Name>, more?: MoreOf<Name>) => Promise<T>
type Handlers = { readonly [Name in MethodName]: Handler<Name, Told<AnswerTo<Name>>> }

/** Of a call that takes no key: there is nothing to say but the answer. */
const plain =
  <Name extends MethodName>(run: Handler<Name, AnswerTo<Name>>): Handler<Name, Told<AnswerTo<Name>>> =>
  async (env, request, more) => ({ answer: await run(env, request, more) })

const HANDLERS: Handlers = {
  addTags,
  countContexts: plain((env, request, options) => countContexts(env, request, options?.signal ?? env.reads?.signal)),
  execute,
  getContext: plain(getContext),
  getContextEvents: plain(getContextEvents),
  getDefinition: plain(getDefinition),
  getEvent: plain(getEvent),
  getMachine: plain(getMachine),
  getOperation: plain(getOperation),
  getServiceSchema: plain(getServiceSchema),
  getStateContext: plain(getStateContext),
  listContexts: plain(async (env, request) => (await listPage(env, request)).contexts),
  listDeliveries: plain(async (env, request) => (await listDeliveriesPage(env, request)).deliveries),
  listDeliveriesPage: plain(listDeliveriesPage),
  listOperations: plain(listOperations),
  listPage: plain(listPage),
  listPending: plain(async (env, request) => (await listPendingPage(env, request)).events),
  listPendingPage: plain(listPendingPage),
  listServices: plain(listServices),
  listWebhooks: plain(listWebhooks),
  pause,
  removeTags,
  replayDelivery: plain(replayDelivery),
  resume,
  retry,
  sendEvent: (env, request, more) => sendEvent(env, request, { onPlaced: more?.onPlaced }),
  startOperation: plain(startOperation),
  stopEvent: plain(stopEvent),
  stopOperation: plain(stopOperation),
  terminate,
  waitFor: plain((env, request, options) => waitFor(env, request, options?.signal ?? env.reads?.signal)),
  withdraw: plain(withdraw),
}

const isMethod = (name: string): name is MethodName => Object.hasOwn(METHODS, name)

/** The calls, bound to the caller and the permissions of their environment. */
export function callsOf(env: CallEnv): Calls {
  // No async functions: they would create a promise more for each call.
  const call: Calls['call'] = (name, request, more) => {
    if (env.gate.isClosed && METHODS[name].role !== 'read') return Promise.reject(serverPaused())
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
