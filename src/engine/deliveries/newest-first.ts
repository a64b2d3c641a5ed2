// engine/deliveries: the deliveries of some endpoints, newest first: the stored ones of all partitions, read piece by
// piece, and those that this server has refused. Only a little is read ahead.
import type { StoredRow } from '../../model/rows.ts'
import type { Deps } from '../contexts/deps.ts'
import { readableOf } from '../record/unreadable.ts'
import { allRows, yieldTurn } from '../tasks/fan-out.ts'
import {
  deliveryKeyOf,
  storedDeliveryOf,
  type DeliveryFacts,
  type DeliveryTally,
  type StoredDelivery,
} from './deliveries.ts'

/** Rows of an endpoint that are read at once. */
const ROWS_AT_ONCE = 16
/** Lists of deliveries whose first rows are read before others are served. */
const LISTS_AT_ONCE = 32

export interface ListedDelivery {
  readonly tally: DeliveryTally
  readonly facts: DeliveryFacts
  /** null: it was refused, and is in memory alone. */
  readonly stored: (StoredRow & { readonly delivery: StoredDelivery }) | null
}

/**
 * Those that are stored of an endpoint. One that can't be read is logged.
 * @param behind only deliveries before the one with this id; null: all
 */
async function* storedDeliveries(
  { store, log }: Omit<Deps, 'clock'>,
  tally: DeliveryTally,
  behind: string | null,
): AsyncGenerator<ListedDelivery, undefined> {
  const { prefix } = tally
  const after = behind === null ? undefined : { key: deliveryKeyOf(prefix, behind), partition: store.partitions }
  for await (const row of allRows(store, { space: 'deliveries', prefix, after }, ROWS_AT_ONCE)) {
    const delivery = readableOf(row, 'deliveries', log, storedDeliveryOf)
    if (!delivery) continue
    const { isStart: _isStart, request: _request, ...facts } = delivery
    yield { tally, facts, stored: { ...row, delivery } }
  }
  return undefined
}

/** They were noted in the order of their answers, which is almost that of their arrival. */
async function* refusedDeliveries(tally: DeliveryTally, behind: string | null): AsyncGenerator<ListedDelivery> {
  const refused = tally.refused.filter(({ deliveryId }) => behind === null || deliveryId < behind)
  const descending = refused.sort((one, other) => (one.deliveryId < other.deliveryId ? 1 : -1))
  for (const facts of descending) yield { tally, facts, stored: null }
}

/** Both of all those endpoints. `behind`: as of `storedDeliveries`. */
export async function* newestFirst(
  deps: Omit<Deps, 'clock'>,
  tallies: readonly DeliveryTally[],
  behind: string | null,
): AsyncGenerator<ListedDelivery> {
  const heads = new Map<ListedDelivery, AsyncIterator<ListedDelivery>>()
  const advance = async (source: AsyncIterator<ListedDelivery>) => {
    const { done, value } = await source.next()
    if (done !== true) heads.set(value, source)
  }
  const sources = tallies.flatMap((tally) => [storedDeliveries(deps, tally, behind), refusedDeliveries(tally, behind)])
  for (let from = 0; from < sources.length; from += LISTS_AT_ONCE) {
    await Promise.all(sources.slice(from, from + LISTS_AT_ONCE).map(advance))
    // What the store has in memory it gives without a pause.
    await yieldTurn()
  }
  while (heads.size > 0) {
    const [newest, source] = [...heads].reduce((one, other) =>
      other[0].facts.deliveryId > one[0].facts.deliveryId ? other : one,
    )
    yield newest
    heads.delete(newest)
    await advance(source)
  }
}
