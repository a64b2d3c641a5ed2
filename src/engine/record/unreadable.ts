// engine/record: contexts whose stored record can't be read. Each is logged once, and left out where many are read.
import { FluxError } from '../../model/failure.ts'
import type { Log } from '../../ports/log.ts'

/** Contexts that are remembered as logged. */
const MAX_LOGGED_CONTEXTS = 10_000

const toldTo = new WeakMap<Log, Set<string>>()

/** Whether an error says that a stored record can't be read; it is logged once for each context. */
export function isUnreadable(error: unknown, log: Log): boolean {
  if (!(error instanceof FluxError) || error.failure.kind !== 'unreadable') return false
  const { detail, contextId } = error.failure
  const told = toldTo.get(log) ?? new Set()
  toldTo.set(log, told)
  if (told.has(detail) || told.size >= MAX_LOGGED_CONTEXTS) return true
  told.add(detail)
  log.error(detail, { contextId, error })
  return true
}
