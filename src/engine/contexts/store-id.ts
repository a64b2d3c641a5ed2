// engine/contexts: an id of the store, made by chance when it is first asked for, and the same ever after.
import { randomBytes } from 'node:crypto'
import type { Store } from '../../ports/store.ts'

const ROW = { partition: 0, space: 'items', key: 'store-id' } as const
const ID_BYTES = 12

/** Gives the id: letters and digits. @throws FluxError `unavailable` */
export type StoreId = () => Promise<string>

/** Reads or makes the id when it is first asked for. */
export function storeIdOf(store: Pick<Store, 'readRow' | 'commit'>): StoreId {
  let known: Promise<string> | null = null
  return () => {
    known ??= readOrMake(store).catch((error: unknown) => {
      known = null
      throw error
    })
    return known
  }
}

async function readOrMake(store: Pick<Store, 'readRow' | 'commit'>): Promise<string> {
  const row = await store.readRow(ROW)
  if (row) return row.value
  const value = randomBytes(ID_BYTES).toString('hex')
  const outcome = await store.commit({ writes: [], rows: [{ ...ROW, value, expects: null, expiresAt: null }] })
  return outcome.ok ? value : readOrMake(store)
}
