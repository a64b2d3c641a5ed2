// engine/calls: the calls, one file each. HTTP and the `flux` argument of functions both use this facade.
import type { FluxApi } from '../../api/flux-api.ts'
import type { CallEnv } from './call-env.ts'
import { changeTags } from './change-tags.ts'
import { countContexts } from './count-contexts.ts'
import { execute } from './execute.ts'
import { getContextEvents } from './get-context-events.ts'
import { getContext } from './get-context.ts'
import { getDefinition } from './get-definition.ts'
import { getEvent } from './get-event.ts'
import { getOperation, listOperations } from './get-operations.ts'
import { getServiceSchema } from './get-service-schema.ts'
import { getMachine } from './get-machine.ts'
import { getStateContext } from './get-state.ts'
import { listContexts, listPage } from './list-contexts.ts'
import { listDeliveriesPage } from './list-deliveries.ts'
import { listPendingPage } from './list-pending.ts'
import { listServices } from './list-services.ts'
import { listWebhooks } from './list-webhooks.ts'
import { pauseContext, resumeContext } from './pause.ts'
import { replayDelivery } from './replay-delivery.ts'
import { retryContext } from './retry.ts'
import { sendEvent } from './send-event.ts'
import { startOperation } from './start-operation.ts'
import { stopEvent } from './stop-event.ts'
import { stopOperation } from './stop-operation.ts'
import { terminate } from './terminate.ts'
import { waitFor } from './wait-for.ts'
import { withdrawEvent } from './withdraw.ts'

/** The calls, bound to the caller and the permissions of their environment. */
export function facade(env: CallEnv): FluxApi {
  const { guard } = env.gate
  return {
    execute: guard((request) => execute(env, request)),
    terminate: guard((request) => terminate(env, request)),
    retry: guard((request) => retryContext(env, request)),
    pause: guard((request) => pauseContext(env, request)),
    resume: guard((request) => resumeContext(env, request)),
    sendEvent: guard((request) => sendEvent(env, request)),
    getEvent: (request) => getEvent(env, request),
    listPending: async (request) => (await listPendingPage(env, request)).events,
    listPendingPage: (request) => listPendingPage(env, request),
    withdraw: guard((request) => withdrawEvent(env, request)),
    stopEvent: guard((request) => stopEvent(env, request)),
    listContexts: listContexts(env),
    countContexts: (request, options) => countContexts(env, request, options),
    listPage: (request, fits) => listPage(env, request, fits),
    getContext: (request) => getContext(env, request),
    waitFor: (request, options) => waitFor(env, request, options?.signal),
    getStateContext: (request) => getStateContext(env, request),
    getContextEvents: (request) => getContextEvents(env, request),
    addTags: guard((request) => changeTags(env, request, 'add')),
    removeTags: guard((request) => changeTags(env, request, 'remove')),
    getDefinition: (request) => getDefinition(env, request),
    getServiceSchema: (request) => getServiceSchema(env, request),
    listServices: (request) => listServices(env, request),
    getMachine: (request) => getMachine(env, request),
    listWebhooks: (request) => listWebhooks(env, request),
    listDeliveries: async (request) => (await listDeliveriesPage(env, request)).deliveries,
    listDeliveriesPage: (request) => listDeliveriesPage(env, request),
    replayDelivery: guard((request) => replayDelivery(env, request)),
    startOperation: guard((request) => startOperation(env, request)),
    getOperation: (request) => getOperation(env, request),
    listOperations: () => listOperations(env),
    stopOperation: guard((request) => stopOperation(env, request)),
  }
}
