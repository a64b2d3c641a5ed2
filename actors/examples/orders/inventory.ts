// The stock, in memory: it begins anew with each start of the server. A real one would call the warehouse's system and hand it the step key.
import type { Flux } from 'actorflux'

interface Item {
  readonly sku: string
  readonly quantity: number
}

const stock = new Map([
  ['pear', 10],
  ['apple', 1000],
  ['fig', 0],
])
/** What each reservation holds. Its name is the key of the step that made it, so that a step which runs twice reserves once. */
const reservations = new Map<string, readonly Item[]>()

/** An empty shelf is no error but an answer: the service decides by its `event`. */
export function reserve({ items }: { items: readonly Item[] }, { stepKey }: Flux) {
  if (reservations.has(stepKey)) return { event: 'reserved', reservation: stepKey }
  const wanted = new Map<string, number>()
  for (const { sku, quantity } of items) wanted.set(sku, (wanted.get(sku) ?? 0) + quantity)
  const missing = [...wanted].find(([sku, quantity]) => (stock.get(sku) ?? 0) < quantity)
  if (missing) return { event: 'outOfStock', missing: missing[0] }
  move(items, -1)
  reservations.set(stepKey, items)
  return { event: 'reserved', reservation: stepKey }
}

/** Puts back what was reserved. Idempotent of itself: what isn't reserved (any more) stays as it is. */
export function release({ reservation }: { reservation: string }) {
  move(reservations.get(reservation) ?? [], 1)
  reservations.delete(reservation)
}

function move(items: readonly Item[], sign: 1 | -1): void {
  for (const { sku, quantity } of items) stock.set(sku, (stock.get(sku) ?? 0) + sign * quantity)
}
