// engine/idempotency: the row of a call under a key, where it is found, and when it is returned instead of an error.
import { FluxError } from '../../model/failure.ts'
import { partitionOf, type StoredRow } from '../../model/rows.ts'
import type { Store } from '../../ports/store.ts'
import { RowTaken } from '../message.ts'
import { claimIn, inProgress, isTombstone } from './key-claim.ts'

export type KeptRow = Pick<StoredRow, 'key' | 'value' | 'partition'>

/** The answer under that key, in whatever partition, or the row of a broadcast under way; null: there is none. */
export async function findKept(store: Store, key: string): Promise<KeptRow | null> {
  const read = (partition: number) => store.readRow({ partition, space: 'idempotency', key })
  const row = await read(partitionOf(key, store.partitions))
  const claim = row && claimIn(row.value)
  if (!claim) return row
  const effect = await read(claim.partition)
  return effect && !isTombstone(effect.value) ? effect : null
}

/** What was answered before, if that may be returned instead of the error. `foundIn`: in which partition a row was met. */
export async function keptInstead(
  error: unknown,
  { store, key, foundIn }: { readonly store: Store; readonly key: string; readonly foundIn: number },
): Promise<KeptRow | null> {
  if (error instanceof RowTaken) {
    const { value } = error
    if (error.space !== 'idempotency' || error.key !== key) return null
    // Others were faster, time and again.
    if (value === null || isTombstone(value) || claimIn(value) !== null) throw inProgress()
    return { key, value, partition: foundIn }
  }
  if (!(error instanceof FluxError) || DENIALS.has(error.failure.kind)) return null
  try {
    return await findKept(store, key)
  } catch {
    // The error itself says more.
    return null
  }
}

/** Whether it is known that a call which ended so had no effect. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof FluxError && !(error.failure.kind === 'unavailable' && error.failure.inDoubt === true)

/** Who may not make the call does not learn what it once led to. */
const DENIALS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden'])
