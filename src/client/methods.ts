// client: the calls as methods.
import type { MessageAnswer } from '../api/fields.ts'
import type { CallAnswer, ClientCalls, WaitOptions } from './calls.ts'
import type { ContextView } from '../api/contexts.ts'
import type { DeliveryView } from '../api/webhooks.ts'
import type { PendingView } from '../api/events.ts'
import { pageOf } from './pages.ts'
import type { Route } from '../api/routes.ts'
import { OTHER_ROUTES, ROUTES } from './routes.ts'
import { sendRequest, type Answered, type Transport } from './transport.ts'

export function callsOver(transport: Transport): ClientCalls {
  const entries: unknown[][] = Object.entries(ROUTES).map(([name, route]) => [
    name,
    async (request: object = {}, options: WaitOptions = {}) =>
      (await made<unknown>(transport, route, { request, options })).value,
  ])
  const calls: Omit<ClientCalls, 'resumeServer' | keyof Pages> = Object.fromEntries(entries)
  return {
    ...calls,
    async sendEvent(request, options) {
      const sent = { request, options }
      const { status, value } = await made<CallAnswer<'sendEvent'>>(transport, ROUTES.sendEvent, sent)
      return status === ACCEPTED ? { ...nobodyYet(), ...value, accepted: true } : value
    },
    async resumeServer(options) {
      return (await made<MessageAnswer>(transport, OTHER_ROUTES.resumeServer, { request: {}, options })).value
    },
    ...pagesOver(transport),
  }
}

type Pages = Pick<ClientCalls, 'listPage' | 'listPendingPage' | 'listDeliveriesPage'>

function pagesOver(transport: Transport): Pages {
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
