// engine/idempotency: the row of a call under a key, where it is found, and when it is told instead of an error.
import { FluxError } from '../../model/failure.ts'
import { partitionOf, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken } from '../message.ts'

export type KeptRow = Pick<StoredRow, 'key' | 'value' | 'partition'>

/** The row of that key, in whatever partition; null: there is none. */
export async function findKept(store: Store, key: string): Promise<KeptRow | null> {
  const home = partitionOf(key, store.partitions)
  const read = (partition: number) => store.readRow({ partition, space: 'idempotency', key })
  const row = await read(home)
  if (row || store.partitions === 1) return row
  const others = Array.from({ length: store.partitions }, (_, partition) => partition).filter((one) => one !== home)
  return (await Promise.all(others.map(read))).find((found) => found !== null) ?? null
}

/** What was answered before, if that may be told instead of the error. `partition`: in which a row was to be written. */
export async function keptInstead(
  error: unknown,
  { key, partition, find }: Pick<KeptRow, 'key' | 'partition'> & { readonly find: () => Promise<KeptRow | null> },
): Promise<KeptRow | null> {
  if (error instanceof RowTaken)
    return error.space === 'idempotency' && error.key === key && error.value !== null
      ? { key, value: error.value, partition }
      : null
  if (!(error instanceof FluxError) || DENIALS.has(error.failure.kind)) return null
  try {
    return await find()
  } catch {
    // The error itself says more.
    return null
  }
}

/** Who may not make the call isn't told what it once led to. */
const DENIALS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden'])
