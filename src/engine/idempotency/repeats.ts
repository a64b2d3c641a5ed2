// engine/idempotency: how often an event was repeated under its key: one row, whomever it is addressed to.
import { partitionOf, type RowWrite } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'

/** Tries of a count that others change, too. What is lost then is only a number. */
const MAX_TRIES = 5

/** No row of an item begins with it, see `broadcast-items.ts`. */
const placeIn = (store: Store, rowKey: string) =>
  ({ partition: partitionOf(rowKey, store.partitions), space: 'items', key: `${rowKey}#` }) as const

export async function repeatsOf(store: Store, rowKey: string): Promise<number> {
  const row = await store.readRow(placeIn(store, rowKey))
  return Number(row?.value ?? 0)
}

export async function countRepeat(store: Store, rowKey: string, expiresAt: number): Promise<void> {
  const place = placeIn(store, rowKey)
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const row = await store.readRow(place)
    const value = String(Number(row?.value ?? 0) + 1)
    const write: RowWrite = { ...place, expects: row?.value ?? null, value, expiresAt }
    const { ok } = await store.commit({ writes: [], rows: [write] })
    if (ok) return
  }
}
