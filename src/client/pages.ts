// client: lists, page by page. `Link` says where the next page begins; only a page without it is the last.
import type { ListedContext, ListRequest } from '../api/context-lists.ts'
import type { CallName, CallOptions } from './calls.ts'
import { ROUTES } from './routes.ts'
import { sendRequest, type Transport } from './transport.ts'

export interface PageOf<Item> {
  readonly items: Item[]
  /** RequestFields of the request for the next page; null: this is the last one. */
  readonly next: { readonly [name: string]: string } | null
}

/** One page of a list. */
export async function pageOf<Item>(
  transport: Transport,
  { call, request, options }: { readonly call: CallName; readonly request: object; readonly options: CallOptions },
): Promise<PageOf<Item>> {
  const sent = { ...options, route: ROUTES[call], fields: { ...request } }
  const { value, headers } = await sendRequest<Item[]>(transport, sent)
  return { items: value, next: placeIn(headers.get('link')) }
}

const PLACES = ['after', 'before'] as const

/** Where the next page begins; it has all else from the request. */
function placeIn(link: string | null): { readonly [name: string]: string } | null {
  // Each target stands in angle brackets, and its parameters behind it (RFC 8288).
  const targets = (link ?? '').split('<').map((part) => part.split('>'))
  const [target] = targets.find(([, parameters = '']) => /\brel="?next\b/i.test(parameters)) ?? []
  if (target === undefined) return null
  const query = new URLSearchParams(target.split('?')[1])
  return Object.fromEntries(PLACES.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])))
}

/** Filters of `contexts`: `limit` is the size of a page. */
export type ContextFilters = Omit<ListRequest, 'page'>

/** All contexts, over all pages. The next page is asked for when one is used up. */
export async function* allContexts<Context extends ListedContext>(
  transport: Transport,
  filters: ContextFilters,
  options: CallOptions = {},
): AsyncGenerator<Context, void, undefined> {
  let request: object = filters
  for (;;) {
    const { items, next } = await pageOf<Context>(transport, { call: 'listContexts', request, options })
    yield* items
    if (next === null) return
    // One bound moves, the other one stays.
    request = { ...filters, ...next }
  }
}
