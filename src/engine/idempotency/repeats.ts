// engine/idempotency: how often a call was repeated under its key, a row beside that of the key.
import type { StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'

/** Tries of a count that others change, too. What is lost then is only a number. */
const MAX_TRIES = 5

/** No row of an item begins with it, see `broadcast-items.ts`. */
const repeatsKey = (key: string): string => `${key}#`

export async function repeatsOf(
  store: Store,
  { key, partition }: Pick<StoredRow, 'key' | 'partition'>,
): Promise<number> {
  const row = await store.readRow({ partition, space: 'items', key: repeatsKey(key) })
  return Number(row?.value ?? 0)
}

export async function countRepeat(
  store: Store,
  { key: counted, partition, expiresAt }: Pick<StoredRow, 'key' | 'partition' | 'expiresAt'>,
): Promise<void> {
  const key = repeatsKey(counted)
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const row = await store.readRow({ partition, space: 'items', key })
    const value = String(Number(row?.value ?? 0) + 1)
    const write = { partition, space: 'items', key, expects: row?.value ?? null, value, expiresAt } as const
    const { ok } = await store.commit({ writes: [], rows: [write] })
    if (ok) return
  }
}
