// engine/idempotency: what an earlier try of a broadcast did without its server hearing of it. Its commits may come true
// late, while somebody else carries the broadcast on.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import type { Found } from '../calls/broadcast-receivers.ts'
import type { Store } from '../../ports/store.ts'
import { itemsOfContexts, receiverOf, type BroadcastItems } from './broadcast-items.ts'

/**
 * What the event came to for those contexts, in the same order: that of one that could not take it now may have been
 * taken before. @throws FluxError `unavailable`
 */
export async function withEarlierMoves(
  store: Store,
  rowKey: string,
  { ids, found }: { readonly ids: readonly ContextId[]; readonly found: readonly Found[] },
): Promise<Found[]> {
  const isOpen = (place: number) => found[place] === null || found[place]?.answer === 'ignored'
  const open = ids.filter((_, place) => isOpen(place))
  const items = await itemsOfContexts(store, rowKey, open)
  const earlier = new Map(items.map((item) => [receiverOf(item), item]))
  return found.map((one, place) => (isOpen(place) && earlier.get(ids[place] ?? 0)) || one)
}

/**
 * Makes sure that none of the services is started any more by an earlier try; gives those that were.
 * @throws FluxError `unavailable`
 */
export async function withEarlierStarts(
  items: BroadcastItems,
  services: readonly CompiledFlux[],
  found: readonly Found[],
): Promise<Found[]> {
  const known = new Set(found.map((one) => (one?.answer === 'executions' ? one.stand.contextId : null)))
  const others = services.filter((flux) => !items.hasStarted(flux))
  const settled = (await Promise.all(others.map((flux) => items.settleStart(flux)))).flat()
  return [...found, ...settled.filter((one) => one.answer === 'executions' && !known.has(one.stand.contextId))]
}
