// client: the calls as methods.
import type { CallAnswer, CallOptions, ClientCalls, WaitOptions } from './calls.ts'
import type { ContextView } from '../api/get-context.ts'
import type { DeliveryView } from '../api/list-deliveries.ts'
import type { PendingView } from '../api/list-pending.ts'
import type { MessageAnswer } from '../api/terminate.ts'
import { pageOf } from './pages.ts'
import { ROUTES, SERVER_ROUTES, type CallName, type Route } from './routes.ts'
import { sendRequest, type Answered, type Transport } from './transport.ts'

export function callsOver(transport: Transport): ClientCalls {
  const plain = async <Name extends CallName>(
    name: Name,
    request: object = {},
    options: WaitOptions = {},
  ): Promise<CallAnswer<Name>> => (await made<CallAnswer<Name>>(transport, ROUTES[name], { request, options })).value
  return {
    execute: (request, options) => plain('execute', request, options),
    async sendEvent(request, options) {
      const sent = { request, options }
      const { status, value } = await made<CallAnswer<'sendEvent'>>(transport, ROUTES.sendEvent, sent)
      return status === ACCEPTED ? { ...nobodyYet(), ...value, accepted: true } : value
    },
    getEvent: (request, options) => plain('getEvent', request, options),
    listPending: (request, options) => plain('listPending', request, options),
    withdraw: (request, options) => plain('withdraw', request, options),
    stopEvent: (request, options) => plain('stopEvent', request, options),
    terminate: (request, options) => plain('terminate', request, options),
    retry: (request, options) => plain('retry', request, options),
    pause: (request, options) => plain('pause', request, options),
    resume: (request, options) => plain('resume', request, options),
    listContexts: (request: object = {}, options: CallOptions = {}): Promise<ContextView[]> =>
      pageOf<ContextView>(transport, { call: 'listContexts', request, options }).then(({ items }) => items),
    countContexts: (request, options) => plain('countContexts', request, options),
    getContext: (request, options) => plain('getContext', request, options),
    getStateContext: (request, options) => plain('getStateContext', request, options),
    getContextEvents: (request, options) => plain('getContextEvents', request, options),
    waitFor: (request, options) => plain('waitFor', request, options),
    addTags: (request, options) => plain('addTags', request, options),
    removeTags: (request, options) => plain('removeTags', request, options),
    getDefinition: (request, options) => plain('getDefinition', request, options),
    getServiceSchema: (request, options) => plain('getServiceSchema', request, options),
    listServices: (request, options) => plain('listServices', request, options),
    getMachine: (request, options) => plain('getMachine', request, options),
    listWebhooks: (request, options) => plain('listWebhooks', request, options),
    listDeliveries: (request, options) => plain('listDeliveries', request, options),
    startOperation: (request, options) => plain('startOperation', request, options),
    getOperation: (request, options) => plain('getOperation', request, options),
    listOperations: (request, options) => plain('listOperations', request, options),
    stopOperation: (request, options) => plain('stopOperation', request, options),
    replayDelivery: (request, options) => plain('replayDelivery', request, options),
    async resumeServer(options) {
      return (await made<MessageAnswer>(transport, SERVER_ROUTES.resumeServer, { request: {}, options })).value
    },
    ...pagesOver(transport),
  }
}

function pagesOver(transport: Transport): Pick<ClientCalls, 'listPage' | 'listPendingPage' | 'listDeliveriesPage'> {
  return {
    async listPage(request = {}, options = {}) {
      const { items, next } = await pageOf<ContextView>(transport, { call: 'listContexts', request, options })
      const place = next?.[request.order === 'desc' ? 'before' : 'after']
      return { contexts: items, next: place === undefined ? null : Number(place) }
    },
    async listPendingPage(request = {}, options = {}) {
      const { items, next } = await pageOf<PendingView>(transport, { call: 'listPending', request, options })
      return { events: items, next: next?.['after'] ?? null }
    },
    async listDeliveriesPage(request = {}, options = {}) {
      const { items, next } = await pageOf<DeliveryView>(transport, { call: 'listDeliveries', request, options })
      return { deliveries: items, next: next?.['after'] ?? null }
    },
  }
}

const ACCEPTED = 202

/** What an answer lacks that only says that the event is stored. */
const nobodyYet = () => ({ transitions: [], executions: [], ignored: [], pending: [] })

interface Making {
  readonly request: object
  readonly options?: WaitOptions | undefined
}

async function made<Value>(
  transport: Transport,
  route: Route,
  { request, options = {} }: Making,
): Promise<Answered<Value>> {
  const { wait, signal, timeout } = options
  // The server passes over a preference that it does not understand.
  if (wait !== undefined && !(Number.isSafeInteger(wait) && wait >= 0))
    throw new TypeError('wait must be a whole number of seconds')
  const { idempotencyKey, respondAsync, ...fields }: { [name: string]: unknown } = { ...request }
  const prefers = [respondAsync === true ? 'respond-async' : '', wait === undefined ? '' : `wait=${wait}`]
  return sendRequest(transport, {
    route,
    fields,
    signal,
    timeout,
    idempotencyKey: keyIn(idempotencyKey),
    prefer: prefers.filter((each) => each !== '').join(', ') || undefined,
  })
}

/** Null means that there is none. @throws TypeError for what can not be one */
function keyIn(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given === 'string') return given
  throw new TypeError('idempotencyKey must be a text')
}
