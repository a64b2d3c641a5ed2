// client: the calls as methods, and lists page by page. `Link` says where the next page begins; only a page without it is
// the last.
import type { ListedContext, ListRequest } from '../api/context-lists.ts'
import type { ContextView } from '../api/contexts.ts'
import type { PendingView } from '../api/events.ts'
import type { MessageAnswer } from '../api/fields.ts'
import type { Route } from '../api/routes.ts'
import type { DeliveryView } from '../api/webhooks.ts'
import type { CallAnswer, CallOptions, ClientCalls, WaitOptions } from './calls.ts'
import { OTHER_ROUTES, ROUTES } from './routes.ts'
import { sendRequest, type Transport } from './transport.ts'

export function callsOver(transport: Transport): ClientCalls {
  const entries: unknown[][] = Object.entries(ROUTES).map(([name, route]) => [
    name,
    async (request?: object, options?: WaitOptions) => (await sendRequest(transport, route, request, options)).value,
  ])
  const calls: Omit<ClientCalls, 'resumeServer' | 'listPage' | 'listPendingPage' | 'listDeliveriesPage'> =
    Object.fromEntries(entries)
  return {
    ...calls,
    async sendEvent(request, options) {
      const { status, value } = await sendRequest<CallAnswer<'sendEvent'>>(
        transport,
        ROUTES.sendEvent,
        request,
        options,
      )
      return status === ACCEPTED ? { ...NO_OUTCOMES, ...value, accepted: true } : value
    },
    resumeServer: async (options) =>
      (await sendRequest<MessageAnswer>(transport, OTHER_ROUTES.resumeServer, {}, options)).value,
    async listPage(request = {}, options) {
      const { items, next } = await pageOf<ContextView>(transport, ROUTES.listContexts, request, options)
      const place = next?.[request.order === 'desc' ? 'before' : 'after']
      return { contexts: items, next: place === undefined ? null : Number(place) }
    },
    async listPendingPage(request, options) {
      const { items, next } = await pageOf<PendingView>(transport, ROUTES.listPending, request, options)
      return { events: items, next: next?.['after'] ?? null }
    },
    async listDeliveriesPage(request, options) {
      const { items, next } = await pageOf<DeliveryView>(transport, ROUTES.listDeliveries, request, options)
      return { deliveries: items, next: next?.['after'] ?? null }
    },
  }
}

const ACCEPTED = 202

/** What an answer lacks that only says that the event is stored. */
const NO_OUTCOMES = { transitions: [], executions: [], ignored: [], pending: [] }

/** One page of a list. `next`: fields of the request for the next page; null: this is the last one. */
async function pageOf<Item>(transport: Transport, route: Route, request?: object, options?: CallOptions) {
  const { value, headers } = await sendRequest<Item[]>(transport, route, request, options)
  // Each target stands in angle brackets, and its parameters behind it (RFC 8288).
  const [, target] = /<([^<>]*)>[^<]*\brel="?next\b/i.exec(headers.get('link') ?? '') ?? []
  if (target === undefined) return { items: value, next: null }
  // It has all else from the request.
  const query = [...new URLSearchParams(target.split('?')[1])]
  const place = query.filter(([name]) => name === 'after' || name === 'before')
  return { items: value, next: Object.fromEntries(place) }
}

/** Filters of `contexts`: `limit` is the size of a page. */
export type ContextFilters = Omit<ListRequest, 'page'>

/** All contexts, over all pages. The next page is asked for when one is used up. */
export async function* allContexts<Context extends ListedContext>(
  transport: Transport,
  filters: ContextFilters,
  options?: CallOptions,
): AsyncGenerator<Context, void, undefined> {
  let request: object = filters
  for (;;) {
    const { items, next } = await pageOf<Context>(transport, ROUTES.listContexts, request, options)
    yield* items
    if (next === null) return
    // One bound moves, the other one stays.
    request = { ...filters, ...next }
  }
}
