// engine/fanout: what an earlier try of a broadcast did without its server hearing of it. Its commits may come true
// late, while somebody else carries the broadcast on.
import type { CompiledFlux } from '../../definitions/flux.ts'
import type { ContextId } from '../../model/context.ts'
import { FluxError } from '../../model/failure.ts'
import { moveAll, type BroadcastEvent, type Found, type ReceiverParts } from './broadcast-receivers.ts'
import { receiverOf, type BroadcastItems } from './broadcast-items.ts'

/**
 * As `moveAll`, of an event that may have been sent to some of them before: one that can't take it now may have taken it
 * then. Null: the store is out of reach for what was done before.
 */
export async function moveAgain(
  receivers: ReceiverParts & { readonly items: BroadcastItems },
  ids: readonly ContextId[],
  sent: BroadcastEvent,
): Promise<Found[] | null> {
  const found = await moveAll(receivers, ids, sent)
  const isOpen = (place: number) => found[place] === null || found[place]?.answer === 'ignored'
  try {
    const items = await receivers.items.doneTo(ids.filter((_, place) => isOpen(place)))
    const earlier = new Map(items.map((item) => [receiverOf(item), item]))
    return found.map((one, place) => (isOpen(place) && earlier.get(ids[place] ?? 0)) || one)
  } catch (error) {
    if (error instanceof FluxError && error.failure.kind === 'unavailable') return null
    throw error
  }
}

/**
 * Makes sure that none of the services is started any more by an earlier try; gives those that were.
 * @throws FluxError `unavailable`
 */
export async function earlierStarts(
  items: BroadcastItems,
  services: readonly CompiledFlux[],
  found: readonly Found[],
): Promise<Found[]> {
  const known = new Set(found.map((one) => (one?.answer === 'executions' ? one.stand.contextId : null)))
  const others = services.filter((flux) => !items.hasStarted(flux))
  const settled = (await Promise.all(others.map((flux) => items.settleStart(flux)))).flat()
  return settled.filter((one) => one.answer === 'executions' && !known.has(one.stand.contextId))
}
