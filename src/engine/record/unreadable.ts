// engine/record: handles stored records of contexts, and rows, that cannot be read. Each is logged once, and omitted
// when many are read.
import { FluxError } from '../../model/failure.ts'
import { logOnce } from '../../model/log-once.ts'
import type { RowSpace, StoredRow } from '../../model/rows.ts'
import type { Log } from '../../ports/log.ts'

/** Whether the error says that a stored record cannot be read. It is logged once for each context. */
export function isUnreadable(error: unknown, log: Log): boolean {
  if (!(error instanceof FluxError) || error.failure.kind !== 'unreadable') return false
  const { detail, contextId } = error.failure
  logOnce(log, detail, { contextId, error })
  return true
}

/** Logs that a row is left out, once for each. */
export function logUnreadable(space: RowSpace, key: string, error: unknown, log: Log): void {
  logOnce(log, `the stored row '${key}' in '${space}' can't be read: it is left out`, { space, key, error })
}

/** The value of the row, read by `read`; null: it is damaged, which is logged once. */
export function readableOf<T>(
  { key, value }: Pick<StoredRow, 'key' | 'value'>,
  space: RowSpace,
  log: Log,
  read: (value: string) => T,
): T | null {
  try {
    return read(value)
  } catch (error) {
    logUnreadable(space, key, error, log)
    return null
  }
}
